/** Detects state folders on which SQLite is not safe: network shares, and folders that a program synchronises. */
import { readFileSync, statfsSync } from "node:fs";

/** Linux's numbers for the types of file systems; other systems use other numbers. */
const NETWORK_FILE_SYSTEMS = new Map([
  [0x6969, "NFS"],
  [0x517b, "SMB"],
  [0xff534d42, "CIFS"],
  [0xfe534d42, "SMB"],
  [0x5346414f, "AFS"],
  [0x00c36400, "Ceph"],
  [0x01021997, "9P, a folder of the machine around this one"],
]);

/** FUSE's number. Only the mount table says which file system is behind it. */
const FUSE_TYPE = 0x65735546;
const NETWORK_FUSE =
  /^fuse\.(?:rclone|sshfs|s3fs|gcsfuse|glusterfs|grpcfuse|davfs2?|onedriver|google-drive-ocamlfuse)$/;

const SYNCED_FOLDERS =
  /^(?:OneDrive\b.*|Dropbox\b.*|Google ?Drive|My Drive|CloudStorage|Mobile Documents|iCloud ?Drive|Nextcloud|ownCloud|Box(?: Sync)?|pCloud ?Drive|MEGA)$/i;

/** Returns warnings as whole sentences. Returns no warning if the folder is safe or cannot be judged. */
export function findFolderWarnings(stateDir: string): string[] {
  const synced = stateDir.split(/[\\/]/).find((name) => SYNCED_FOLDERS.test(name));
  if (synced !== undefined) {
    return [
      `The state folder ${stateDir} lies in ${synced}, which copies files while they are written and can damage the ledger: set AUDIO_STATE_DIR to a folder that nothing synchronises.`,
    ];
  }
  const share = findNetworkShare(stateDir);
  if (share === null) return [];
  return [
    `The state folder ${stateDir} lies on a network share (${share}), where SQLite cannot keep several machines apart: set AUDIO_STATE_DIR to a local folder, or share a ledger by AUDIO_STORE_URL.`,
  ];
}

function findNetworkShare(stateDir: string): string | null {
  if (process.platform === "win32") return /^[\\/]{2}(?![.?])/.test(stateDir) ? "a path with a server" : null;
  if (process.platform !== "linux") return null;
  try {
    const { type } = statfsSync(stateDir);
    const kind = type === FUSE_TYPE ? findMountKind(stateDir) : undefined;
    if (kind !== undefined && NETWORK_FUSE.test(kind)) return kind.slice("fuse.".length);
    return NETWORK_FILE_SYSTEMS.get(type) ?? null;
  } catch {
    return null;
  }
}

/** Returns the kernel's name for the type of the file system that holds a path. */
function findMountKind(path: string): string | undefined {
  let nearest = "";
  let kind: string | undefined;
  for (const line of readFileSync("/proc/self/mountinfo", "utf8").split("\n")) {
    const [, , , , escaped = ""] = line.split(" ");
    const point = escaped.replace(/\\([0-7]{3})/g, (_, octal: string) =>
      String.fromCharCode(Number.parseInt(octal, 8)),
    );
    const isAbove = point === "/" || path === point || path.startsWith(`${point}/`);
    // If a folder has several mounts, only the last one is visible.
    if (!isAbove || point.length < nearest.length) continue;
    nearest = point;
    kind = / - (\S+) /.exec(line)?.[1];
  }
  return kind;
}
