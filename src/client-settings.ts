/** Words for the place of this server's settings, whatever way the client installed it. */
export const IN_CLIENT_SETTINGS =
  "in the client's settings of this server (the `env` of its entry, or the form of its plugin or extension)";
