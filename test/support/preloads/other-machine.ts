/**
 * Preloaded into the server: simulates another host name and network at every start, and, if set, another platform
 * (TEST_PLATFORM) and a user without a home folder (TEST_NO_HOME).
 */
import { randomBytes } from "node:crypto";
import { syncBuiltinESMExports } from "node:module";
import os from "node:os";

const platform = process.env["TEST_PLATFORM"];
if (platform !== undefined) Object.defineProperty(process, "platform", { value: platform });

const chance = randomBytes(6).toString("hex");
os.hostname = () => `host-${chance}`;
os.networkInterfaces = () => ({
  en0: [
    {
      address: "192.0.2.1",
      netmask: "255.255.255.0",
      family: "IPv4",
      mac: (chance.match(/../g) ?? []).join(":"),
      internal: false,
      cidr: "192.0.2.1/24",
    },
  ],
});

if (process.env["TEST_NO_HOME"] !== undefined) {
  const fail = (): never => {
    throw Object.assign(new Error("ENOENT: no such file or directory, uv_os_homedir"), { code: "ENOENT" });
  };
  os.homedir = fail;
  os.userInfo = fail;
}
syncBuiltinESMExports();
