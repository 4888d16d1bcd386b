/** Runs a program and its child processes in a network with only the loopback of this machine. */
import { spawnSync } from "node:child_process";

/**
 * The options to try in turn. The first needs root. The second becomes root in a user namespace, which every user may
 * create on most Linux systems.
 */
const UNSHARE_OPTIONS: ReadonlyArray<readonly string[]> = [["--net"], ["--net", "--map-root-user"]];

/** Starts the loopback interface. Adds the folders of `ip` to the PATH, because not every PATH contains them. */
const ENABLE_LOOPBACK = "PATH=$PATH:/usr/sbin:/sbin ip link set lo up";

/** Returns the words to put before a command that may use only loopback, or `null` if no option works here. */
export function findLoopbackPrefix(): string[] | null {
  for (const options of UNSHARE_OPTIONS) {
    const { status } = spawnSync("unshare", [...options, "--", "sh", "-c", ENABLE_LOOPBACK], {
      stdio: "ignore",
    });
    if (status === 0)
      return ["unshare", ...options, "--", "sh", "-c", `${ENABLE_LOOPBACK} && exec "$@"`, "sh"];
  }
  return null;
}
