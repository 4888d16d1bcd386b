# The server:       docker build --target server -t audio-generation-mcp .
# With the sandbox: docker build -t audio-generation-mcp-sandbox .
# `npm run build` comes first: the image takes dist/ as it is.

FROM node:24-slim AS server
LABEL io.modelcontextprotocol.server.name="io.github.placeholder-owner/audio-generation-mcp"
LABEL org.opencontainers.image.source="https://github.com/placeholder-owner/audio-generation-mcp"
LABEL org.opencontainers.image.licenses="MIT"
WORKDIR /app
COPY package.json LICENSE ./
COPY dist ./dist
# A volume that is mounted here takes over the owner.
RUN install -d -o node -g node /home/node/audio-generation /home/node/.local/state/audio-generation-mcp
USER node
ENTRYPOINT ["node", "/app/dist/main.js"]

FROM server AS sandbox
USER root
COPY sandbox-package/package.json /tmp/sandbox/package.json
# The server itself is here already, so that only the sandbox's own packages are fetched.
RUN cd /tmp/sandbox \
  && npm pkg delete dependencies.audio-generation-mcp \
  && npm install --omit=dev --ignore-scripts --no-audit --no-fund \
  && mv node_modules /app/node_modules \
  && rm -rf /tmp/sandbox
USER node
CMD ["--sandbox"]
