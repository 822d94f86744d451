" SPDX-License-Identifier: MIT
" Vim syntax of healer's and Monit's rules. Made by generate.py: do not edit.
if exists('b:current_syntax')
  finish
endif

syntax case ignore

syntax keyword healerAction alert exec execute repeat restart restartprogram restarts start
syntax keyword healerAction startprogram stop stopprogram unmonitor
syntax keyword healerCondition else if not then
syntax keyword healerEvent action bytein byteout connection data instance invalid nonexist
syntax keyword healerEvent nonexists packetin packetout resource speed
syntax keyword healerNoise activity and are as but capacity does for
syntax keyword healerNoise has in is last of on only option
syntax keyword healerNoise options or per program programs rate sum than
syntax keyword healerNoise the times to usage use using via was
syntax keyword healerNoise with within without
syntax keyword healerOption a aaaa accept active address after all allow
syntax keyword healerOption allowselfcertification any approval at atime attribute auto automatic
syntax keyword healerOption basedir batch body breaker cacertificatefile cacertificatepath cancel certificate
syntax keyword healerOption certmd5 checksum child children ciphers clamav cleanuplimit cleartext
syntax keyword healerOption clientpemfile closelimit cname command community composite container control
syntax keyword healerOption cooldown core count credentials crypt ctime daemon database
syntax keyword healerOption default define delay delete digest directory disable disk
syntax keyword healerOption dns dnslimit docker dormant down download downloaded dry
syntax keyword healerOption dwp each echo enable end ended environment eq
syntax keyword healerOption equal euid eventqueue exectimeout expect expectbuffer facility fail
syntax keyword healerOption fail2ban failure file filecontentbuffer filedescriptors fips follow free
syntax keyword healerOption from fsflag fsflags ftp ge get gid gone
syntax keyword healerOption gps gracefullimit greater gt guard hardlink hardlinks head
syntax keyword healerOption header heal healing host hostgroups hostheader hostname http
syntax keyword healerOption http2 httpcontentbuffer httpd https icmp idfile imap imaps
syntax keyword healerOption init inode inodes insecure interface ipv4 ipv6 json
syntax keyword healerOption keepalivelimit laststate ldap2 ldap3 le leftovers less limit
syntax keyword healerOption limits link lmtp log logfile loglimit lt mail
syntax keyword healerOption mails mailserver maintenance manual maxforward md5 member members
syntax keyword healerOption memcache method mmonit mongodb monit more mqtt mtime
syntax keyword healerOption mx mysql mysqls ne networktimeout newer nntp nostart
syntax keyword healerOption notequal notify ns ntp3 offset oid older once
syntax keyword healerOption origin overlapping pagein pageins pageout pageouts parallel passive
syntax keyword healerOption password patch path pause pemchain pemfile pemkey perm
syntax keyword healerOption permission pgsql pid pidfile ping ping4 ping6 polls
syntax keyword healerOption pop pops port portnumber post ppid probation programoutput
syntax keyword healerOption programtimeout proto protocol ptr put query radius ramp
syntax keyword healerOption rdate read readonly ready redirects redis register reject
syntax keyword healerOption reminder repeatable replylimit request requestlimit responsetime restarttimeout retry
syntax keyword healerOption rsakey rsync run runs saturation save secret secrets
syntax keyword healerOption security selfsigned send sendexpectbuffer servicetime settle sha1 sha256
syntax keyword healerOption sha512 shadow sieve signal signature sip size skip
syntax keyword healerOption slot slots smtp smtps snmp soa socket space
syntax keyword healerOption spamassassin srv ssh ssl sslauto sslv2 sslv3 startlimit
syntax keyword healerOption starttimeout starttls statefile step stoptimeout syslog target tcp
syntax keyword healerOption tcpssl terabyte terabytes terminal thread threads time timeout
syntax keyword healerOption timestamp tls tlsv1 tlsv11 tlsv12 tlsv13 tns total
syntax keyword healerOption tries txt type udp uid unix unixsocket until
syntax keyword healerOption up upload uploaded uptime url username valid verify
syntax keyword healerOption version wait waitlimit watchdog websocket week weeks when
syntax keyword healerOption while write
syntax match healerOption /\v-sslv2>/
syntax match healerOption /\v-sslv3>/
syntax match healerOption /\v-tlsv1>/
syntax match healerOption /\v-tlsv11>/
syntax match healerOption /\v-tlsv12>/
syntax match healerOption /\v-tlsv13>/
syntax match healerOption /\v<TB>/
syntax match healerOption /\v<TB\/s>/
syntax match healerOption /\v<access time>/
syntax match healerOption /\v<apache-status>/
syntax match healerOption /\v<change time>/
syntax match healerOption /\v<from:/
syntax match healerOption /\v<http +headers>/
syntax match healerOption /\v<mail-format>/
syntax match healerOption /\v<message:/
syntax match healerOption /\v<modification time>/
syntax match healerOption /\v<postfix-policy>/
syntax match healerOption /\v<read-only>/
syntax match healerOption /\v<reply-to:/
syntax match healerOption /\v<service time>/
syntax match healerOption /\v<subject:/
syntax keyword healerStatement check depend depends every group ignore include mode
syntax keyword healerStatement noalert onreboot set workflow
syntax match healerStatement /\v<check +device>/
syntax match healerStatement /\v<check +directory>/
syntax match healerStatement /\v<check +fifo>/
syntax match healerStatement /\v<check +file>/
syntax match healerStatement /\v<check +filesystem>/
syntax match healerStatement /\v<check +host>/
syntax match healerStatement /\v<check +network>/
syntax match healerStatement /\v<check +process>/
syntax match healerStatement /\v<check +program>/
syntax match healerStatement /\v<check +system>/
syntax match healerStatement /\v<depend +on>/
syntax match healerStatement /\v<depends +on>/
syntax match healerStatement /\v<not +every>/
syntax keyword healerTest changed content cpu exist exists failed loadavg match
syntax keyword healerTest matching mem memory passed recovered status succeeded swap
syntax keyword healerTest totalcpu totalmem totalmemory
syntax match healerTest /\v<cpu *\( *guest *\)/
syntax match healerTest /\v<cpu *\( *guestnice *\)/
syntax match healerTest /\v<cpu *\( *hardirq *\)/
syntax match healerTest /\v<cpu *\( *nice *\)/
syntax match healerTest /\v<cpu *\( *softirq *\)/
syntax match healerTest /\v<cpu *\( *steal *\)/
syntax match healerTest /\v<cpu *\( *system *\)/
syntax match healerTest /\v<cpu *\( *user *\)/
syntax match healerTest /\v<cpu *\( *wait *\)/
syntax match healerTest /\v<cpu *usage *\( *guest *\)/
syntax match healerTest /\v<cpu *usage *\( *guestnice *\)/
syntax match healerTest /\v<cpu *usage *\( *hardirq *\)/
syntax match healerTest /\v<cpu *usage *\( *nice *\)/
syntax match healerTest /\v<cpu *usage *\( *softirq *\)/
syntax match healerTest /\v<cpu *usage *\( *steal *\)/
syntax match healerTest /\v<cpu *usage *\( *system *\)/
syntax match healerTest /\v<cpu *usage *\( *user *\)/
syntax match healerTest /\v<cpu *usage *\( *wait *\)/
syntax match healerTest /\v<cpuusage *\( *guest *\)/
syntax match healerTest /\v<cpuusage *\( *guestnice *\)/
syntax match healerTest /\v<cpuusage *\( *hardirq *\)/
syntax match healerTest /\v<cpuusage *\( *nice *\)/
syntax match healerTest /\v<cpuusage *\( *softirq *\)/
syntax match healerTest /\v<cpuusage *\( *steal *\)/
syntax match healerTest /\v<cpuusage *\( *system *\)/
syntax match healerTest /\v<cpuusage *\( *user *\)/
syntax match healerTest /\v<cpuusage *\( *wait *\)/
syntax match healerTest /\v<loadavg *\( *15min *\)/
syntax match healerTest /\v<loadavg *\( *1min *\)/
syntax match healerTest /\v<loadavg *\( *5min *\)/
syntax match healerTest /\v<total cpu>/
syntax match healerTest /\v<total mem>/
syntax match healerTest /\v<total memory>/
syntax keyword healerUnit b byte bytes cycle cycles day days gb
syntax keyword healerUnit gigabyte gigabytes h hour hours kb kilobyte kilobytes
syntax keyword healerUnit m mb megabyte megabytes millisecond milliseconds minute minutes
syntax keyword healerUnit month months ms operation operations packet packets percent
syntax keyword healerUnit s second seconds
syntax match healerUnit /\v<b\/s>/
syntax match healerUnit /\v<byte\/s>/
syntax match healerUnit /\v<bytes\/s>/
syntax match healerUnit /\v<gb\/s>/
syntax match healerUnit /\v<kb\/s>/
syntax match healerUnit /\v<mb\/s>/
syntax match healerUnit /\v<operation\/s>/
syntax match healerUnit /\v<operations\/s>/
syntax match healerUnit /\v<packet\/s>/
syntax match healerUnit /\v<packets\/s>/

syntax match healerNumber /\v<\d+(\.\d+)?\a*>/
syntax match healerOperator /\v[<>=!]\=?|[<>]/
syntax match healerPath /\v(^|\s|\=)@<=\/[^ \t,;(){}\"']+/
syntax region healerString start=/"/ end=/"/
syntax region healerString start=/'/ end=/'/
syntax match healerComment /\v(^|[ \t,;(){}\"'])@<=#.*$/ contains=healerTodo
syntax keyword healerTodo contained TODO FIXME XXX

highlight default link healerAction Function
highlight default link healerCondition Conditional
highlight default link healerEvent Constant
highlight default link healerNoise Comment
highlight default link healerOption Keyword
highlight default link healerStatement Statement
highlight default link healerTest Identifier
highlight default link healerUnit Type
highlight default link healerNumber Number
highlight default link healerOperator Operator
highlight default link healerPath String
highlight default link healerString String
highlight default link healerComment Comment
highlight default link healerTodo Todo

let b:current_syntax = 'healer'
