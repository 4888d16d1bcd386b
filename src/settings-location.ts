/** Says where in a client a user finds the settings of this server. The words fit every way to install the server. */
export const IN_CLIENT_SETTINGS =
  "in the client's settings of this server (the `env` of its entry, or the form of its plugin or extension)";
