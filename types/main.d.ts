/** The bin. Importing it starts the server on this process's stdio; to start it as a client does, resolve its path and run that. */
export {};
