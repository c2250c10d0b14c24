//! qlog files of QUIC connections (draft-ietf-quic-qlog-main-schema, as quinn writes it: JSON text sequences).

use crate::{Error, clock};
use quinn::{QlogConfig, TransportConfig};
use std::fs::File;
use std::io::BufWriter;
use std::path::Path;

/// Makes `transport` log one connection into `folder/name.sqlog`.
pub fn attach(transport: &mut TransportConfig, folder: &Path, name: &str) -> Result<(), Error> {
    let path = folder.join(format!("{name}.sqlog"));
    let made = std::fs::create_dir_all(folder).and_then(|()| File::create(&path));
    let file = made.map_err(|e| Error::new(path.display(), format!("cannot be written: {e}")))?;
    let mut config = QlogConfig::default();
    config.writer(Box::new(BufWriter::new(file))).title(Some(name.to_string())).start_time(clock::instant());
    transport.qlog_stream(config.into_stream());
    Ok(())
}
