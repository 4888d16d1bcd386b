/** Tells a state folder on which SQLite is not safe: shares of a network, and folders that a program synchronises. */
import { statfsSync } from "node:fs";
import { sep } from "node:path";

/** As Linux names them; elsewhere these numbers mean nothing. */
const NETWORK_FILE_SYSTEMS = new Map([
  [0x6969, "NFS"],
  [0x517b, "SMB"],
  [0xff534d42, "CIFS"],
  [0xfe534d42, "SMB"],
  [0x5346414f, "AFS"],
  [0x00c36400, "Ceph"],
]);

const SYNCED_FOLDERS = /^(?:OneDrive\b.*|Dropbox\b.*|Google ?Drive|CloudStorage|Mobile Documents|Nextcloud)$/;

/** Whole sentences; none where nothing is wrong, or where it cannot be told. */
export function folderWarnings(stateDir: string): string[] {
  const synced = stateDir.split(sep).find((name) => SYNCED_FOLDERS.test(name));
  if (synced !== undefined) {
    return [
      `The state folder ${stateDir} lies in ${synced}, which copies files while they are written and can damage the ledger: set AUDIO_STATE_DIR to a folder that nothing synchronises.`,
    ];
  }
  if (process.platform !== "linux") return [];
  const share = NETWORK_FILE_SYSTEMS.get(statfsSync(stateDir).type);
  if (share === undefined) return [];
  return [
    `The state folder ${stateDir} lies on a network share (${share}), where SQLite cannot keep several machines apart: set AUDIO_STATE_DIR to a local folder, or share a ledger by AUDIO_STORE_URL.`,
  ];
}
