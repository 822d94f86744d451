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
syntax keyword healerOption allowselfcertification amqp any approval at atime attribute auto
syntax keyword healerOption automatic basedir batch body breaker cacertificatefile cacertificatepath cancel
syntax keyword healerOption certificate certmd5 checksum child children ciphers clamav cleanuplimit
syntax keyword healerOption cleartext clientpemfile closelimit cname command community composite contact
syntax keyword healerOption container control cooldown core count credentials crypt ctime
syntax keyword healerOption daemon database default define delay delete digest directory
syntax keyword healerOption disable disk dns dnslimit docker dormant down download
syntax keyword healerOption downloaded dry duration dwp each echo enable end
syntax keyword healerOption ended environment eq equal euid event eventqueue events
syntax keyword healerOption exectimeout expect expectbuffer facility fail fail2ban failure file
syntax keyword healerOption filecontentbuffer filedescriptors fips follow format free from fsflag
syntax keyword healerOption fsflags ftp ge get gid gone gps gracefullimit
syntax keyword healerOption greater grpc gt guard hardlink hardlinks head header
syntax keyword healerOption heal healing heartbeat hook host hostgroups hostheader hostname
syntax keyword healerOption http http2 httpcontentbuffer httpd https icmp idfile imap
syntax keyword healerOption imaps init inode inodes insecure interface ipv4 ipv6
syntax keyword healerOption json keepalivelimit key laststate ldap2 ldap3 le leftovers
syntax keyword healerOption less limit limits link lmtp log logfile loglimit
syntax keyword healerOption lt mail mails mailserver maintenance manual maxforward md5
syntax keyword healerOption member members memcache method missed mmonit mongodb monit
syntax keyword healerOption more mqtt mtime mx mysql mysqls name ne
syntax keyword healerOption networktimeout newer next nntp nostart note notequal notify
syntax keyword healerOption ns ntp3 offset oid older once operator operators
syntax keyword healerOption origin overlapping pagein pageins pageout pageouts parallel passive
syntax keyword healerOption password patch path pause pemchain pemfile pemkey perm
syntax keyword healerOption permission pgsql pid pidfile ping ping4 ping6 polls
syntax keyword healerOption pop pops port portnumber post ppid probation programoutput
syntax keyword healerOption programtimeout proto protocol proxy ptr put query radius
syntax keyword healerOption ramp rdate read readonly ready redirects redis register
syntax keyword healerOption reject reminder repeatable replylimit request requestlimit responsetime restarttimeout
syntax keyword healerOption retry row rows rsakey rsync run runs saturation
syntax keyword healerOption save secret secrets security selfsigned send sendexpectbuffer service
syntax keyword healerOption servicetime settle sha1 sha256 sha512 shadow sieve signal
syntax keyword healerOption signature sip size skip slot slots smtp smtps
syntax keyword healerOption snmp soa socket space spamassassin srv ssh ssl
syntax keyword healerOption sslauto sslv2 sslv3 startlimit starttimeout starttls state statefile
syntax keyword healerOption step stoptimeout substate syslog target tasks tcp tcpssl
syntax keyword healerOption terabyte terabytes terminal thread threads time timeout timestamp
syntax keyword healerOption tls tlsv1 tlsv11 tlsv12 tlsv13 tns token total
syntax keyword healerOption tries trust txt type udp uid unit unix
syntax keyword healerOption unixsocket until up upload uploaded uptime url username
syntax keyword healerOption valid verify version wait waitlimit watchdog websocket week
syntax keyword healerOption weeks when while write
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
