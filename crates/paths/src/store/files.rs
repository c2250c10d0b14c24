//! Finds the files to ingest from the paths that a user names.

use super::refusal::Refusal;
use std::fs;
use std::path::{Path, PathBuf};

/// A file that is to be read.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Source {
    /// Where it is; `-` is standard input.
    pub path: PathBuf,
    /// Its name in the lake: its path below the folder that the user named, or its file name.
    pub name: String,
}

/// The files that `paths` name, including all files below folders, each once and in the order of their paths. Hidden files
/// and the files in `lake` are left out.
///
/// # Errors
/// If there is no such file, or a folder cannot be read.
pub fn sources(paths: &[PathBuf], lake: &Path) -> Result<Vec<Source>, Refusal> {
    let lake = lake.canonicalize().ok();
    let mut found = Vec::new();
    for path in paths {
        if path == Path::new("-") {
            found.push(Source { path: path.clone(), name: "-".to_owned() });
        } else if path.is_dir() {
            walk(path, path, lake.as_deref(), &mut found)?;
        } else if path.exists() {
            let name = path.file_name().unwrap_or(path.as_os_str()).to_string_lossy().into_owned();
            found.push(Source { path: path.clone(), name });
        } else {
            return Err(Refusal::new(path, "there is no such file", "files of traceroutes, or folders of them"));
        }
    }
    found.sort();
    found.dedup_by(|a, b| a.path == b.path);
    Ok(found)
}

fn walk(folder: &Path, top: &Path, lake: Option<&Path>, found: &mut Vec<Source>) -> Result<(), Refusal> {
    if lake.is_some() && folder.canonicalize().ok().as_deref() == lake {
        return Ok(());
    }
    let refused =
        |e: std::io::Error| Refusal::new(folder, format!("cannot be read: {e}"), "a folder that this user may read");
    for entry in fs::read_dir(folder).map_err(refused)? {
        let entry = entry.map_err(refused)?;
        let path = entry.path();
        if entry.file_name().as_encoded_bytes().starts_with(b".") {
            continue;
        }
        // Links to folders are not followed, as they may lead in a circle.
        if entry.file_type().map_err(refused)?.is_dir() {
            walk(&path, top, lake, found)?;
        } else if path.is_file() {
            let name = path.strip_prefix(top).unwrap_or(&path).to_string_lossy().into_owned();
            found.push(Source { path, name });
        }
    }
    Ok(())
}
