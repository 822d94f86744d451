// SPDX-License-Identifier: MIT
// What is to be measured. Kinds of services do not measure: they name measurements, and runtime/measurer, the only
// place that distinguishes them, has them made. The results are engine/evidence.
#pragma once

#include <cstdint>
#include <variant>
#include <vector>

#include "util/time.hpp"

namespace healer::engine {

namespace measure {

/// Runs the program of the service (ServiceBlock::program) to its end.
struct Run {
  bool output = false;  ///< also what it has written is compared (Attribute::Output)

  bool operator==(const Run&) const = default;
};

/// Looks for a process (ServiceBlock::process), and hears of its death from then on.
struct FindProcess {
  bool attribute = false;          ///< also its security attribute
  bool descendants = false;        ///< also figures of all its descendants, whatever that costs
  bool total_descriptors = false;  ///< also the file descriptors of these
  bool of_children = false;        ///< also the figures of these without its own
  bool load = false;               ///< also the load averages of the machine
  // What costs a file each is read now and then, for people; where it is asked for, at each look.
  bool owner = false;        ///< whose it is
  bool transfers = false;    ///< what it reads and writes
  bool descriptors = false;  ///< its file descriptors
  bool memory = false;       ///< its proportional share of memory (ServiceBlock::shares_memory)

  bool operator==(const FindProcess&) const = default;
};

/// Reads the figures of the machine.
struct ReadSystem {
  bool operator==(const ReadSystem&) const = default;
};

/// Which checksums of a file are asked for.
struct Checksums {
  bool md5 = false;
  bool sha1 = false;
  bool sha256 = false;
  bool sha512 = false;

  [[nodiscard]] bool any() const { return md5 || sha1 || sha256 || sha512; }
  bool operator==(const Checksums&) const = default;
};

/// What a path has to be. A socket is a file, as to Monit.
enum class PathType : std::uint8_t { File, Directory, Fifo };

/// Reads what the file system says of a path (ServiceBlock::path). Another type than this is as if it were not there.
struct ReadPath {
  PathType type = PathType::File;
  Checksums checksums{};  ///< of a file
  bool lines = false;     ///< also its new lines (ServiceBlock::lines)

  bool operator==(const ReadPath&) const = default;
};

/// Reads what is mounted as or at ServiceBlock::path: a device, a mount point, or what a remote one is mounted from.
struct ReadFilesystem {
  bool operator==(const ReadFilesystem&) const = default;
};

/// Reads what a network interface (ServiceBlock::interface) is and carries.
struct ReadInterface {
  std::vector<Duration> spans{};  ///< the times of which totals are asked for; 0: as long as is known

  bool operator==(const ReadInterface&) const = default;
};

/// Makes the connections that the rules ask for (ServiceBlock::probes): the pings first; where one of them fails, the
/// others are spared. Those of a process are made where it is there, and rest until it has run for `rest`.
struct Connect {
  Duration rest{0};

  bool operator==(const Connect&) const = default;
};

/// Reads the list of the service (ServiceBlock::listed), and evaluates the filters of its rules for its row.
struct ReadRow {
  bool operator==(const ReadRow&) const = default;
};

/// Reads what systemd says of a unit (OtherSubject::unit), and hears of its changes from then on.
struct ReadUnit {
  std::vector<Duration> spans{};  ///< the times of which the restarts are asked for

  bool operator==(const ReadUnit&) const = default;
};

}  // namespace measure

using Measurement =
    std::variant<measure::Run, measure::FindProcess, measure::ReadSystem, measure::ReadPath, measure::ReadFilesystem,
                 measure::ReadInterface, measure::Connect, measure::ReadRow, measure::ReadUnit>;

/// All that one check of a service measures. Made once, when the rules are loaded (CheckKind::plan).
struct Plan {
  std::vector<Measurement> parts;

  bool operator==(const Plan&) const = default;
};

}  // namespace healer::engine
