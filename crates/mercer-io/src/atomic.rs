//! Writing files atomically.

use std::fs::{self, File, OpenOptions};
use std::io::{self, BufWriter, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use tempfile::NamedTempFile;

use crate::error::{Error, Result};

/// The end of the names of unfinished files, which a killed process leaves behind.
pub(crate) const UNFINISHED: &str = ".mercer-tmp";

/// Files that are written atomically as a set: each is written under another name beside its target, and all are
/// renamed when all are on disk.
#[derive(Debug, Default)]
pub struct Outputs {
    staged: Vec<(NamedTempFile, PathBuf)>,
    /// Pipes and devices, which are written to and not replaced.
    direct: Vec<(PathBuf, File)>,
}

/// A file that is written step by step beside its target, and joins [`Outputs`] when it is complete. Dropping it before
/// removes it.
#[derive(Debug)]
pub struct StagedFile {
    shown: String,
    target: PathBuf,
    file: Temporary,
}

/// The temporary file.
#[derive(Debug)]
enum Temporary {
    Named(Box<BufWriter<NamedTempFile>>, Option<fs::Permissions>),
    /// For pipes and devices, whose folder may not be writable: a file without a name.
    Unnamed(BufWriter<File>),
}

impl StagedFile {
    fn create(path: &Path) -> Result<Self> {
        let shown = path.display().to_string();
        let mut permissions = None;
        let mut target = path.to_path_buf();
        if let Ok(metadata) = fs::metadata(path) {
            if metadata.is_dir() {
                return Err(Error::NotRegular { file: shown, what: "a directory" });
            }
            if !metadata.is_file() {
                let file = tempfile::tempfile().map_err(Error::io(&shown, "written"))?;
                return Ok(StagedFile { shown, target, file: Temporary::Unnamed(buffered(file)) });
            }
            // A link stays a link: its target is replaced. A file without write permission is not replaced.
            target = fs::canonicalize(path).map_err(Error::io(&shown, "followed"))?;
            OpenOptions::new().write(true).open(&target).map_err(Error::io(&shown, "written"))?;
            permissions = Some(metadata.permissions());
        } else if fs::symlink_metadata(path).is_ok() {
            return Err(Error::NotRegular { file: shown, what: "a link to nothing" });
        }
        let folder = match target.parent() {
            Some(p) if !p.as_os_str().is_empty() => p,
            _ => Path::new("."),
        };
        let mut builder = tempfile::Builder::new();
        builder.prefix(".").suffix(UNFINISHED);
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt;
            // Before the user's mask, as for any new file.
            builder.permissions(fs::Permissions::from_mode(0o666));
        }
        let file = builder.tempfile_in(folder).map_err(Error::io(&shown, "written"))?;
        Ok(StagedFile { shown, target, file: Temporary::Named(Box::new(buffered(file)), permissions) })
    }
}

fn buffered<W: Write>(file: W) -> BufWriter<W> {
    BufWriter::with_capacity(1 << 18, file)
}

impl Write for StagedFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match &mut self.file {
            Temporary::Named(file, _) => file.write(bytes),
            Temporary::Unnamed(file) => file.write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match &mut self.file {
            Temporary::Named(file, _) => file.flush(),
            Temporary::Unnamed(file) => file.flush(),
        }
    }
}

impl Seek for StagedFile {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        match &mut self.file {
            Temporary::Named(file, _) => file.seek(to),
            Temporary::Unnamed(file) => file.seek(to),
        }
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
    /// When it cannot be written (a full disk, a missing folder), or when `path` is a directory.
    pub fn stage(&mut self, path: impl AsRef<Path>, bytes: Vec<u8>) -> Result<()> {
        let mut file = Outputs::stage_file(path)?;
        file.write_all(&bytes).map_err(Error::io(&file.shown, "written"))?;
        self.join(file)
    }

    /// Opens a file beside `path`, to be written step by step. The file at `path` is not touched before
    /// [`Outputs::commit`].
    ///
    /// # Errors
    /// As [`Outputs::stage`].
    pub fn stage_file(path: impl AsRef<Path>) -> Result<StagedFile> {
        StagedFile::create(path.as_ref())
    }

    /// Adds a complete file.
    ///
    /// # Errors
    /// When its buffer cannot be written.
    pub fn join(&mut self, file: StagedFile) -> Result<()> {
        let StagedFile { shown, target, file } = file;
        let io = |e| Error::io(&shown, "written")(e);
        match file {
            Temporary::Named(file, permissions) => {
                let file = file.into_inner().map_err(|e| io(e.into_error()))?;
                if let Some(permissions) = permissions {
                    file.as_file().set_permissions(permissions).map_err(io)?;
                }
                file.as_file().sync_all().map_err(io)?;
                self.staged.push((file, target));
            }
            Temporary::Unnamed(file) => {
                self.direct.push((target, file.into_inner().map_err(|e| io(e.into_error()))?));
            }
        }
        Ok(())
    }

    /// Renames all files to their targets.
    ///
    /// # Errors
    /// When one cannot be renamed; those before it are then in place, and each file is complete.
    pub fn commit(self) -> Result<()> {
        for (path, mut bytes) in self.direct {
            let io = |e| Error::io(path.display(), "written")(e);
            let mut file = OpenOptions::new().write(true).open(&path).map_err(io)?;
            bytes.seek(SeekFrom::Start(0)).map_err(io)?;
            io::copy(&mut bytes, &mut file).map_err(io)?;
        }
        for (file, path) in self.staged {
            file.persist(&path).map_err(|e| Error::io(path.display(), "written")(e.error))?;
            // The new name is on disk once its folder is.
            let folder = path.parent().filter(|p| !p.as_os_str().is_empty()).unwrap_or(Path::new("."));
            if let Ok(folder) = File::open(folder) {
                let _ = folder.sync_all();
            }
        }
        Ok(())
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
}
