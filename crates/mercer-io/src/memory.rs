//! The memory that is free for this process.

use std::fs;
use std::path::{Path, PathBuf};

use mercer::exec::DEFAULT_MEMORY;

/// The default memory budget: 60 % of what this process may still use. That is the least of the free memory of the
/// machine, of the limits of its control groups (as containers have them), and of its limit on address space
/// (`ulimit -v`). Where nothing is known it is [`DEFAULT_MEMORY`].
pub fn default_memory() -> u64 {
    System { root: PathBuf::from("/") }.free().map_or(DEFAULT_MEMORY, |free| free / 10 * 6)
}

/// The files in which Linux tells about memory.
struct System {
    /// `/`, but in tests.
    root: PathBuf,
}

impl System {
    fn free(&self) -> Option<u64> {
        let group = self.groups().into_iter().filter_map(|group| group.free()).min();
        [self.machine(), group, self.address_space()].into_iter().flatten().min()
    }

    /// The content of a file, given by its path without the first slash.
    fn read(&self, path: &str) -> Option<String> {
        fs::read_to_string(self.root.join(path)).ok()
    }

    fn machine(&self) -> Option<u64> {
        kilobytes(&self.read("proc/meminfo")?, "MemAvailable:")
    }

    /// The limit on address space, less what is mapped.
    fn address_space(&self) -> Option<u64> {
        let limits = self.read("proc/self/limits")?;
        let limit = limits.lines().find_map(|line| line.strip_prefix("Max address space"))?;
        // `unlimited` is no number.
        let limit: u64 = limit.split_whitespace().next()?.parse().ok()?;
        let used = kilobytes(&self.read("proc/self/status")?, "VmSize:").unwrap_or(0);
        Some(limit.saturating_sub(used))
    }

    /// The control groups of this process and all those around them: each may have a limit. A container may see its own
    /// group as the root, whatever its path is outside, so paths that do not exist are skipped.
    fn groups(&self) -> Vec<Group> {
        let text = self.read("proc/self/cgroup").unwrap_or_default();
        let mut groups = Vec::new();
        for line in text.lines() {
            let mut parts = line.splitn(3, ':').skip(1);
            let (Some(controllers), Some(path)) = (parts.next(), parts.next()) else { continue };
            let (mount, version) = match controllers {
                "" => ("sys/fs/cgroup", Version::Two),
                list if list.split(',').any(|c| c == "memory") => ("sys/fs/cgroup/memory", Version::One),
                _ => continue,
            };
            let mount = self.root.join(mount);
            for path in Path::new(path.trim_start_matches('/')).ancestors() {
                groups.push(Group { folder: mount.join(path), version });
            }
        }
        groups
    }
}

/// A control group, which may limit memory.
struct Group {
    folder: PathBuf,
    version: Version,
}

#[derive(Clone, Copy)]
enum Version {
    One,
    Two,
}

impl Group {
    /// What is left of the limit; `None` without a limit.
    fn free(&self) -> Option<u64> {
        // Above `high` a group is slowed down until it uses less.
        let (limits, used, cache): (&[&str], _, _) = match self.version {
            Version::One => (&["memory.limit_in_bytes"], "memory.usage_in_bytes", "total_inactive_file "),
            Version::Two => (&["memory.max", "memory.high"], "memory.current", "inactive_file "),
        };
        // `max` is no number.
        let limit = limits.iter().filter_map(|name| self.number(name)).min()?;
        // Pages of files that were read count as used, but the system takes them back when it needs memory.
        let stat = fs::read_to_string(self.folder.join("memory.stat")).unwrap_or_default();
        let cache = stat.lines().find_map(|line| line.strip_prefix(cache)?.trim().parse().ok());
        let used = self.number(used).unwrap_or(0).saturating_sub(cache.unwrap_or(0));
        Some(limit.saturating_sub(used))
    }

    fn number(&self, name: &str) -> Option<u64> {
        fs::read_to_string(self.folder.join(name)).ok()?.trim().parse().ok()
    }
}

/// The number of bytes in a line such as `MemAvailable:  1024 kB`.
fn kilobytes(text: &str, name: &str) -> Option<u64> {
    let line = text.lines().find_map(|line| line.strip_prefix(name))?;
    line.trim().strip_suffix("kB")?.trim().parse::<u64>().ok()?.checked_mul(1024)
}

#[cfg(test)]
mod tests {
    use super::*;

    const GB: u64 = 1_000_000_000;

    struct Fake(tempfile::TempDir);

    impl Fake {
        fn new(files: &[(&str, &str)]) -> Self {
            let fake = Fake(tempfile::tempdir().expect("a folder"));
            for (path, text) in files {
                let path = fake.0.path().join(path);
                fs::create_dir_all(path.parent().expect("a folder")).expect("creates");
                fs::write(path, text).expect("writes");
            }
            fake
        }

        fn free(&self) -> Option<u64> {
            System { root: self.0.path().into() }.free()
        }
    }

    const MACHINE: (&str, &str) = ("proc/meminfo", "MemTotal:  32000000 kB\nMemAvailable:   16000000 kB\n");

    #[test]
    fn nothing_is_known_without_files() {
        assert_eq!(Fake::new(&[]).free(), None);
        assert_eq!(Fake::new(&[("proc/meminfo", "MemAvailable: lots")]).free(), None);
    }

    #[test]
    fn the_free_memory_of_the_machine() {
        assert_eq!(Fake::new(&[MACHINE]).free(), Some(16_000_000 * 1024));
        let unlimited =
            "Limit  Soft Limit  Hard Limit  Units\nMax address space         unlimited   unlimited   bytes\n";
        assert_eq!(Fake::new(&[MACHINE, ("proc/self/limits", unlimited)]).free(), Some(16_000_000 * 1024));
    }

    #[test]
    fn the_limit_on_address_space_less_what_is_mapped() {
        let limits = "Limit  Soft Limit  Hard Limit  Units\nMax address space         614400000   unlimited   bytes\n";
        let status = ("proc/self/status", "Name: mercer\nVmPeak:  200000 kB\nVmSize:  100000 kB\n");
        let fake = Fake::new(&[MACHINE, ("proc/self/limits", limits), status]);
        assert_eq!(fake.free(), Some(614_400_000 - 102_400_000));
    }

    #[test]
    fn control_groups_of_version_2_and_those_around_them() {
        let group = ("proc/self/cgroup", "0::/user/job\n");
        let files = [
            MACHINE,
            group,
            ("sys/fs/cgroup/user/job/memory.max", "max\n"),
            ("sys/fs/cgroup/user/job/memory.current", "1000\n"),
            ("sys/fs/cgroup/user/memory.max", "4000000000\n"),
            ("sys/fs/cgroup/user/memory.current", "1500000000\n"),
            ("sys/fs/cgroup/user/memory.stat", "anon 900000000\ninactive_file 500000000\nactive_file 7\n"),
        ];
        assert_eq!(Fake::new(&files).free(), Some(3 * GB));
        let high = ("sys/fs/cgroup/user/job/memory.high", "2000001000\n");
        assert_eq!(Fake::new(&[&files[..], &[high]].concat()).free(), Some(2 * GB));
        // A container sees its own group as the root.
        let inside =
            [MACHINE, group, ("sys/fs/cgroup/memory.max", "1000000000"), ("sys/fs/cgroup/memory.current", "0")];
        assert_eq!(Fake::new(&inside).free(), Some(GB));
    }

    #[test]
    fn control_groups_of_version_1() {
        let group = ("proc/self/cgroup", "5:cpu,cpuacct:/job\n4:memory:/job\n1:name=systemd:/other\n");
        let files = [
            MACHINE,
            group,
            ("sys/fs/cgroup/memory/job/memory.limit_in_bytes", "3000000000\n"),
            ("sys/fs/cgroup/memory/job/memory.usage_in_bytes", "2500000000\n"),
            ("sys/fs/cgroup/memory/job/memory.stat", "inactive_file 1\ntotal_inactive_file 500000000\n"),
            ("sys/fs/cgroup/memory/memory.limit_in_bytes", "9223372036854771712\n"),
        ];
        assert_eq!(Fake::new(&files).free(), Some(GB));
        // More is used than is allowed, as after the limit was lowered.
        let less = ("sys/fs/cgroup/memory/job/memory.limit_in_bytes", "10\n");
        assert_eq!(Fake::new(&[&files[..], &[less]].concat()).free(), Some(0));
    }
}
