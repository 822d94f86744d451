// SPDX-License-Identifier: MIT
// What the tokens of Monit's whole language are. Which spellings they have is in words.hpp.
#pragma once

#include <cstdint>
#include <string_view>

namespace healer::grammar {

/// What a token is. One byte, so that the kinds of a file are a string that PEGTL rules can parse.
enum class Kind : std::uint8_t {
  End,
  // Tokens without a spelling of their own.
  Broken,      ///< an unknown character, an unclosed quote, a malformed schedule: TokenStream::faults says why
  String,      ///< a bare word that is no word of the language
  Quoted,      ///< "..." or '...'
  Path,        ///< bare or quoted text that begins with '/'
  Number,      ///< digits
  Real,        ///< digits.digits
  Mail,        ///< bare text with one '@'
  Url,         ///< bare scheme://...
  Address,     ///< bare text with '::'
  Name,        ///< the raw word after `check TYPE`, `group`, `depends`
  Schedule,    ///< the quoted text after `every`: five fields, says the validator
  Command,     ///< "..." where Monit splits it into arguments
  Pattern,     ///< the raw word after `include`
  RawLine,     ///< text to the end of the line or '}', after `from:`, `reply-to:`, `subject:`; may be empty
  RawText,     ///< text to '}', after `message:`; may be empty
  Headers,     ///< `[name: value, ...]`, after `http headers`
  HostGroups,  ///< `[A, "B c"]`, after `hostgroups`
  // Signs.
  Colon,
  LeftBrace,
  RightBrace,
  Percent,
  Equal,
  Operator,
  At,  ///< after `allow` alone
  // A noise word: never becomes a token.
  Noise,
  // Statements.
  Set,
  Include,
  CheckProcess,
  CheckFile,
  CheckDirectory,
  CheckFilesystem,
  CheckFifo,
  CheckHost,
  CheckSystem,
  CheckProgram,
  CheckComposite,  ///< `check` before `composite NAME`, which Monit has not: has no spelling of its own
  CheckHeartbeat,  ///< the same before `heartbeat NAME`
  CheckEvent,      ///< the same before `event NAME`
  CheckRow,        ///< the same before `row NAME`
  CheckUnit,       ///< the same before `unit NAME`
  CheckNetwork,
  Workflow,  ///< healer's own, where a name and '{' come
  If,
  Else,
  Then,
  Not,
  Every,
  NotEvery,
  Alert,
  NoAlert,
  Group,
  Depends,
  Mode,
  OnReboot,
  Ignore,
  // Actions and programs.
  Exec,
  Repeat,
  Start,
  Stop,
  Restart,
  Unmonitor,
  Timeout,
  Uid,
  Gid,
  // Units.
  Cycle,
  Second,
  Millisecond,
  Minute,
  Hour,
  Day,
  Month,
  SizeUnit,
  Rate,
  PacketRate,
  OperationRate,
  Packet,
  Operation,
  // Set.
  Daemon,
  Delay,
  Init,
  Terminal,
  Batch,
  Log,
  Syslog,
  Facility,
  PidFile,
  IdFile,
  StateFile,
  ExpectBuffer,
  EventQueue,
  BaseDir,
  Slots,
  Fips,
  Limits,
  SizeLimit,
  TimeLimit,
  MailServer,
  MailFormat,
  From,
  ReplyTo,
  Subject,
  Message,
  Reminder,
  EventName,
  Mmonit,
  Register,
  Credentials,
  Httpd,
  Signature,
  Enable,
  Disable,
  ReadOnly,
  Allow,
  Cleartext,
  Crypt,
  Active,
  Passive,
  Manual,
  NoStart,
  LastState,
  // TLS.
  Ssl,
  SslVersion,
  Auto,
  Version,
  Verify,
  SelfSigned,
  Reject,
  Ciphers,
  PemPath,
  CaPath,
  Certificate,
  CertMd5,
  ChecksumType,
  Checksum,
  Valid,
  // Tests.
  Failed,
  Changed,
  Succeeded,
  Exist,
  Status,
  Content,
  Match,
  Cpu,
  CpuPart,
  TotalCpu,
  Memory,
  TotalMemory,
  Swap,
  LoadAverage,
  Core,
  Children,
  Threads,
  FileDescriptors,
  Uptime,
  Pid,
  Ppid,
  Euid,
  Permission,
  Security,
  Attribute,
  Size,
  Time,
  AccessTime,
  ModificationTime,
  ChangeTime,
  FsFlags,
  Space,
  Inode,
  Free,
  Read,
  Write,
  Disk,
  ServiceTime,
  Link,
  Up,
  Down,
  Saturation,
  Upload,
  Download,
  Total,
  Uploaded,
  Downloaded,
  // Connections.
  PathWord,
  AddressWord,
  Interface,
  Host,
  HostName,
  Port,
  Unix,
  IpVersion,
  Type,
  Transport,
  Protocol,
  ProtocolName,
  Send,
  Expect,
  ResponseTime,
  Retry,
  Ping,
  Icmp,
  Echo,
  Count,
  UrlWord,
  Request,
  HttpHeaders,
  Method,
  Get,
  Head,
  HostHeader,
  Origin,
  Target,
  MaxForward,
  Username,
  Password,
  Database,
  Secret,
  RsaKey,
  LimitName,
};

}  // namespace healer::grammar
