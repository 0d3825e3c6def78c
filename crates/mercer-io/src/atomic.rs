//! Writing files atomically.
//!
//! The file for `out.csv` is written as `.out.csv.mercer-tmp` beside it and renamed when it is complete. Its process
//! holds a lock on it. A second process finds the name taken and the lock held, and is refused. Without the lock, the
//! file was left behind by a killed process, and is removed.

use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{self, BufReader, BufWriter, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use crate::error::{Error, Result};
use crate::set::fingerprint;

/// The end of the names of unfinished files.
pub(crate) const UNFINISHED: &str = ".mercer-tmp";
/// The longest name of a file on common file systems, in bytes.
const LONGEST_NAME: usize = 255;
/// How long a file whose bytes are known waits for another process that writes the same file.
const PATIENCE: Duration = Duration::from_secs(5);

/// The unfinished files of this process. Renaming holds the lock, so that a process does not end within a set.
static LIVE: Mutex<Vec<PathBuf>> = Mutex::new(Vec::new());

fn live() -> MutexGuard<'static, Vec<PathBuf>> {
    LIVE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Removes the unfinished files of this process, just before it exits without unwinding. A set whose files are being
/// renamed is completed first. Nothing can be written afterwards.
pub fn remove_unfinished() {
    let start = Instant::now();
    loop {
        match LIVE.try_lock() {
            Ok(live) => {
                for path in live.iter() {
                    let _ = fs::remove_file(path);
                }
                std::mem::forget(live);
                return;
            }
            // The file system may hang.
            Err(_) if start.elapsed() > PATIENCE => return,
            Err(_) => thread::sleep(Duration::from_millis(1)),
        }
    }
}

/// A file under its temporary name, locked by this process. Dropping it removes it.
#[derive(Debug)]
struct Unfinished {
    file: File,
    path: PathBuf,
    /// Whether it has its final name.
    is_renamed: bool,
}

impl Unfinished {
    /// Creates the temporary file of a target; `None` while another process has it.
    fn create(target: &Path) -> io::Result<Option<Self>> {
        let path = unfinished_name(target);
        // Not opened where it exists: the name is known, so the file could be a link to any other.
        let mut options = OpenOptions::new();
        options.read(true).write(true).create_new(true);
        // Each turn ends a race that was lost: another process removed or renamed the file in between.
        for _ in 0..100 {
            let mut live = live();
            match options.open(&path) {
                Ok(file) => {
                    lock(&file)?;
                    if is_at(&file, &path) {
                        live.push(path.clone());
                        return Ok(Some(Unfinished { file, path, is_renamed: false }));
                    }
                }
                Err(e) if e.kind() == io::ErrorKind::AlreadyExists => {
                    if !remove_stale(&path)? {
                        return Ok(None);
                    }
                }
                Err(e) => return Err(e),
            }
        }
        Ok(None)
    }

    fn rename(&mut self, target: &Path, live: &mut Vec<PathBuf>) -> io::Result<()> {
        fs::rename(&self.path, target)?;
        live.retain(|path| *path != self.path);
        self.is_renamed = true;
        Ok(())
    }
}

impl Drop for Unfinished {
    fn drop(&mut self) {
        // The name may be that of another writer by now.
        if self.is_renamed {
            return;
        }
        let mut live = live();
        if let Some(at) = live.iter().position(|path| *path == self.path) {
            live.swap_remove(at);
            let _ = fs::remove_file(&self.path);
        }
    }
}

/// `.out.csv.mercer-tmp` for `out.csv`.
fn unfinished_name(target: &Path) -> PathBuf {
    let name = target.file_name().unwrap_or_default();
    let mut hidden = std::ffi::OsString::from(".");
    if name.len() + 1 + UNFINISHED.len() > LONGEST_NAME {
        hidden.push(format!("{:016x}", fingerprint(name.as_encoded_bytes()).unwrap_or_default()));
    } else {
        hidden.push(name);
    }
    hidden.push(UNFINISHED);
    folder_of(target).join(hidden)
}

/// Locks a file, unless its file system has no locks.
fn lock(file: &File) -> io::Result<()> {
    match file.lock() {
        Err(e) if e.kind() != io::ErrorKind::Unsupported => Err(e),
        _ => Ok(()),
    }
}

/// Removes the file of a process that is gone; `false` if it is still in use.
fn remove_stale(path: &Path) -> io::Result<bool> {
    // A link is not followed, and is not ours.
    match fs::symlink_metadata(path) {
        Err(e) if e.kind() == io::ErrorKind::NotFound => return Ok(true),
        Ok(metadata) if metadata.is_file() => {}
        _ => return Ok(false),
    }
    let file = match File::open(path) {
        Err(e) if e.kind() == io::ErrorKind::NotFound => return Ok(true),
        other => other?,
    };
    match file.try_lock() {
        Err(TryLockError::WouldBlock) => Ok(false),
        Err(TryLockError::Error(e)) => Err(e),
        // Renamed in between, it is an output.
        Ok(()) if !is_at(&file, path) => Ok(true),
        Ok(()) => fs::remove_file(path).map(|()| true),
    }
}

/// Whether an open file is the one that has this name.
pub(crate) fn is_at(file: &File, path: &Path) -> bool {
    #[cfg(unix)]
    {
        use std::os::unix::fs::MetadataExt;
        let place = |metadata: fs::Metadata| (metadata.dev(), metadata.ino());
        match (file.metadata(), fs::symlink_metadata(path)) {
            (Ok(open), Ok(named)) => place(open) == place(named),
            _ => false,
        }
    }
    #[cfg(not(unix))]
    {
        let _ = file;
        path.exists()
    }
}

fn folder_of(path: &Path) -> &Path {
    path.parent().filter(|p| !p.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

/// Files that are written atomically as a set: each is written under another name beside its target, and all are
/// renamed when all are on disk.
#[derive(Debug, Default)]
pub struct Outputs {
    staged: Vec<(Unfinished, PathBuf)>,
    /// Pipes and devices, which are written to and not replaced.
    direct: Vec<(PathBuf, File)>,
}

/// A file that is written step by step beside its target, and joins [`Outputs`] when it is complete. Dropping it before
/// removes it. No other process can write the same target meanwhile.
#[derive(Debug)]
pub struct StagedFile {
    shown: String,
    target: PathBuf,
    file: Temporary,
}

/// The temporary file.
#[derive(Debug)]
enum Temporary {
    Named(BufWriter<NamedFile>),
    /// For pipes and devices, whose folder may not be writable: a file without a name.
    Unnamed(BufWriter<File>),
}

/// A temporary file, and the permissions of the one that it replaces.
#[derive(Debug)]
struct NamedFile {
    unfinished: Unfinished,
    permissions: Option<fs::Permissions>,
}

/// What a file is written to.
enum Target {
    File(PathBuf, Option<fs::Permissions>),
    /// A pipe or a device.
    Direct,
}

impl Target {
    fn of(path: &Path) -> Result<Self> {
        let shown = path.display().to_string();
        match fs::metadata(path) {
            Ok(metadata) if metadata.is_dir() => Err(Error::NotRegular { file: shown, what: "a directory" }),
            Ok(metadata) if !metadata.is_file() => Ok(Target::Direct),
            Ok(metadata) => {
                // A link stays a link: its target is replaced. A file without write permission is not replaced.
                let target = fs::canonicalize(path).map_err(Error::io(&shown, "followed"))?;
                OpenOptions::new().write(true).open(&target).map_err(Error::io(&shown, "written"))?;
                Ok(Target::File(target, Some(metadata.permissions())))
            }
            Err(_) if fs::symlink_metadata(path).is_ok() => {
                Err(Error::NotRegular { file: shown, what: "a link to nothing" })
            }
            Err(_) => Ok(Target::File(path.to_path_buf(), None)),
        }
    }
}

impl StagedFile {
    fn create(path: &Path, patience: Duration) -> Result<Self> {
        let shown = path.display().to_string();
        let (target, permissions) = match Target::of(path)? {
            Target::File(target, permissions) => (target, permissions),
            Target::Direct => {
                let file = tempfile::tempfile().map_err(Error::io(&shown, "written"))?;
                return Ok(StagedFile { shown, target: path.into(), file: Temporary::Unnamed(buffered(file)) });
            }
        };
        let start = Instant::now();
        loop {
            if let Some(unfinished) = Unfinished::create(&target).map_err(Error::io(&shown, "written"))? {
                let file = Temporary::Named(buffered(NamedFile { unfinished, permissions }));
                return Ok(StagedFile { shown, target, file });
            }
            if start.elapsed() >= patience {
                return Err(Error::InUse { file: shown, what: "is being written" });
            }
            thread::sleep(Duration::from_millis(20));
        }
    }

    fn file(&mut self) -> &mut (dyn WriteSeek + '_) {
        match &mut self.file {
            Temporary::Named(file) => file,
            Temporary::Unnamed(file) => file,
        }
    }
}

trait WriteSeek: Write + Seek {}
impl<T: Write + Seek> WriteSeek for T {}

fn buffered<W: Write>(file: W) -> BufWriter<W> {
    BufWriter::with_capacity(1 << 18, file)
}

impl Write for NamedFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.unfinished.file.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.unfinished.file.flush()
    }
}

impl Seek for NamedFile {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        self.unfinished.file.seek(to)
    }
}

impl Write for StagedFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.file().write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file().flush()
    }
}

impl Seek for StagedFile {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        self.file().seek(to)
    }
}

impl Outputs {
    /// No files.
    pub fn new() -> Self {
        Outputs::default()
    }

    /// Writes `bytes` to disk beside `path`. The file at `path` is not touched before [`Outputs::commit`].
    ///
    /// # Errors
    /// When it cannot be written (a full disk, a missing folder), when `path` is a directory, or when another process
    /// writes the same file for more than 5 seconds.
    pub fn stage(&mut self, path: impl AsRef<Path>, bytes: Vec<u8>) -> Result<()> {
        let mut file = StagedFile::create(path.as_ref(), PATIENCE)?;
        file.write_all(&bytes).map_err(Error::io(&file.shown, "written"))?;
        self.join(file)
    }

    /// Opens a file beside `path`, to be written step by step. The file at `path` is not touched before
    /// [`Outputs::commit`].
    ///
    /// # Errors
    /// As [`Outputs::stage`], without waiting for another process.
    pub fn stage_file(path: impl AsRef<Path>) -> Result<StagedFile> {
        StagedFile::create(path.as_ref(), Duration::ZERO)
    }

    /// Checks that a file can be written at `path`, as far as that can be seen without writing it.
    ///
    /// # Errors
    /// When `path` is a directory, a link to nothing, or a file without write permission.
    pub fn check(path: impl AsRef<Path>) -> Result<()> {
        Target::of(path.as_ref()).map(drop)
    }

    /// Removes what a killed process left behind when it wrote the file at `path`. Files in use stay.
    pub fn sweep(path: impl AsRef<Path>) {
        if let Ok(Target::File(target, _)) = Target::of(path.as_ref()) {
            let _ = remove_stale(&unfinished_name(&target));
        }
    }

    /// Adds a complete file, which is renamed after those before it.
    ///
    /// # Errors
    /// When its buffer cannot be written.
    pub fn join(&mut self, file: StagedFile) -> Result<()> {
        self.join_at(self.staged.len(), file)
    }

    /// Adds a complete file, which is renamed before all others.
    ///
    /// # Errors
    /// As [`Outputs::join`].
    pub fn join_first(&mut self, file: StagedFile) -> Result<()> {
        self.join_at(0, file)
    }

    fn join_at(&mut self, at: usize, file: StagedFile) -> Result<()> {
        let StagedFile { shown, target, file } = file;
        let io = |e| Error::io(&shown, "written")(e);
        match file {
            Temporary::Named(file) => {
                let NamedFile { unfinished, permissions } = file.into_inner().map_err(|e| io(e.into_error()))?;
                if let Some(permissions) = permissions {
                    unfinished.file.set_permissions(permissions).map_err(io)?;
                }
                unfinished.file.sync_all().map_err(io)?;
                self.staged.insert(at, (unfinished, target));
            }
            Temporary::Unnamed(file) => {
                self.direct.push((target, file.into_inner().map_err(|e| io(e.into_error()))?));
            }
        }
        Ok(())
    }

    /// The names of the files and fingerprints of their bytes, without pipes and devices.
    ///
    /// # Errors
    /// When a file cannot be read.
    pub fn fingerprints(&mut self) -> Result<Vec<(PathBuf, u64)>> {
        let one = |(unfinished, target): &mut (Unfinished, PathBuf)| {
            let io = |e| Error::io(target.display(), "read")(e);
            unfinished.file.seek(SeekFrom::Start(0)).map_err(io)?;
            let found = fingerprint(BufReader::with_capacity(1 << 18, (&unfinished.file).take(u64::MAX)));
            Ok((target.clone(), found.map_err(|e| Error::io(target.display(), "read")(e))?))
        };
        self.staged.iter_mut().map(one).collect()
    }

    /// Renames all files to their targets, one directly after the other.
    ///
    /// # Errors
    /// When one cannot be renamed; those before it are then in place, and each file is complete.
    pub fn commit(mut self) -> Result<()> {
        for (path, mut bytes) in self.direct {
            let io = |e| Error::io(path.display(), "written")(e);
            let mut file = OpenOptions::new().write(true).open(&path).map_err(io)?;
            bytes.seek(SeekFrom::Start(0)).map_err(io)?;
            io::copy(&mut bytes, &mut file).map_err(io)?;
        }
        let renamed = {
            let mut live = live();
            self.staged.iter_mut().try_for_each(|(file, path)| {
                file.rename(path, &mut live).map_err(|e| Error::io(path.display(), "written")(e))
            })
        };
        // The new names are on disk once their folders are.
        let mut folders: Vec<&Path> = self.staged.iter().map(|(_, path)| folder_of(path)).collect();
        folders.dedup();
        for folder in folders {
            if let Ok(folder) = File::open(folder) {
                let _ = folder.sync_all();
            }
        }
        renamed
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_or_nothing() -> std::result::Result<(), Box<dyn std::error::Error>> {
        let folder = tempfile::tempdir()?;
        let (a, b) = (folder.path().join("a"), folder.path().join("missing/b"));
        fs::write(&a, "old")?;
        let mut outputs = Outputs::new();
        outputs.stage(&a, b"new".to_vec())?;
        assert!(outputs.stage(&b, b"new".to_vec()).is_err());
        drop(outputs);
        assert_eq!(fs::read_to_string(&a)?, "old");
        assert_eq!(fs::read_dir(folder.path())?.count(), 1, "nothing is left behind");

        let mut outputs = Outputs::new();
        outputs.stage(&a, b"new".to_vec())?;
        assert_eq!(fs::read_to_string(&a)?, "old");
        outputs.commit()?;
        assert_eq!(fs::read_to_string(&a)?, "new");
        Ok(())
    }

    #[test]
    fn step_by_step() -> std::result::Result<(), Box<dyn std::error::Error>> {
        let folder = tempfile::tempdir()?;
        let path = folder.path().join("a");
        fs::write(&path, "old")?;
        let mut file = Outputs::stage_file(&path)?;
        file.write_all(b"not to be")?;
        file.flush()?;
        drop(file);
        assert_eq!(fs::read_dir(folder.path())?.count(), 1, "nothing is left behind");

        let mut outputs = Outputs::new();
        let mut file = Outputs::stage_file(&path)?;
        file.write_all(b"?ew and long")?;
        file.seek(SeekFrom::Start(0))?;
        file.write_all(b"n")?;
        outputs.join(file)?;
        outputs.stage(folder.path().join("b"), b"beside".to_vec())?;
        assert_eq!(fs::read_to_string(&path)?, "old");
        outputs.commit()?;
        assert_eq!(fs::read_to_string(&path)?, "new and long");
        assert_eq!(fs::read_dir(folder.path())?.count(), 2);
        Ok(())
    }

    #[cfg(unix)]
    #[test]
    fn links_are_followed_and_directories_refused() -> std::result::Result<(), Box<dyn std::error::Error>> {
        let folder = tempfile::tempdir()?;
        let (file, link) = (folder.path().join("file"), folder.path().join("link"));
        fs::write(&file, "old")?;
        std::os::unix::fs::symlink(&file, &link)?;
        let mut outputs = Outputs::new();
        outputs.stage(&link, b"new".to_vec())?;
        outputs.commit()?;
        assert!(fs::symlink_metadata(&link)?.file_type().is_symlink());
        assert_eq!(fs::read_to_string(&file)?, "new");
        let refused = Outputs::new().stage(folder.path(), Vec::new());
        assert!(matches!(refused, Err(Error::NotRegular { .. })));
        // A device is written to, never replaced.
        let mut outputs = Outputs::new();
        outputs.stage("/dev/null", b"gone".to_vec())?;
        outputs.commit()?;
        assert!(!fs::metadata("/dev/null")?.is_file());
        Ok(())
    }

    #[test]
    fn a_target_has_one_writer() -> std::result::Result<(), Box<dyn std::error::Error>> {
        let folder = tempfile::tempdir()?;
        let path = folder.path().join("a");
        let first = Outputs::stage_file(&path)?;
        assert!(matches!(Outputs::stage_file(&path), Err(Error::InUse { .. })));
        // Through a link, too.
        fs::write(&path, "old")?;
        #[cfg(unix)]
        {
            std::os::unix::fs::symlink("a", folder.path().join("link"))?;
            assert!(matches!(Outputs::stage_file(folder.path().join("link")), Err(Error::InUse { .. })));
        }
        Outputs::sweep(&path);
        assert!(folder.path().join(".a.mercer-tmp").exists(), "it is in use");
        drop(first);
        assert!(!folder.path().join(".a.mercer-tmp").exists());
        Outputs::stage_file(&path)?;
        // Short writes wait for each other.
        let write = |text: &'static str| {
            let mut outputs = Outputs::new();
            outputs.stage(&path, text.into()).and_then(|()| outputs.commit())
        };
        thread::scope(|scope| {
            let all: Vec<_> = (0..5).map(|_| scope.spawn(|| (0..10).try_for_each(|_| write("new")))).collect();
            all.into_iter().all(|one| one.join().is_ok_and(|done| done.is_ok()))
        })
        .then_some(())
        .ok_or("a write was refused")?;
        assert_eq!(fs::read_to_string(&path)?, "new");
        Ok(())
    }

    #[test]
    fn what_a_killed_process_left_behind_is_removed() -> std::result::Result<(), Box<dyn std::error::Error>> {
        let folder = tempfile::tempdir()?;
        let (path, left) = (folder.path().join("a"), folder.path().join(".a.mercer-tmp"));
        fs::write(&left, "half")?;
        Outputs::sweep(&path);
        assert!(!left.exists());
        fs::write(&left, "half")?;
        let mut outputs = Outputs::new();
        outputs.stage(&path, b"new".to_vec())?;
        outputs.commit()?;
        assert_eq!(fs::read_dir(folder.path())?.count(), 1);
        // Names as long as the file system takes.
        let long = folder.path().join("n".repeat(LONGEST_NAME));
        let mut outputs = Outputs::new();
        outputs.stage(&long, b"new".to_vec())?;
        outputs.commit()?;
        assert_eq!(fs::read(&long)?, b"new");
        Ok(())
    }

    #[test]
    fn the_first_is_renamed_first() -> std::result::Result<(), Box<dyn std::error::Error>> {
        let folder = tempfile::tempdir()?;
        let mut outputs = Outputs::new();
        outputs.stage(folder.path().join("b"), b"b".to_vec())?;
        let mut first = Outputs::stage_file(folder.path().join("a"))?;
        first.write_all(b"a")?;
        outputs.join_first(first)?;
        let names = outputs.fingerprints()?;
        let of = |name: &str, bytes: &[u8]| -> io::Result<_> { Ok((folder.path().join(name), fingerprint(bytes)?)) };
        assert_eq!(names, [of("a", b"a")?, of("b", b"b")?]);
        outputs.commit()?;
        Ok(())
    }
}
