# One image for every process. The command of the container selects what runs: all in one process, or one part.
#   docker build -t catalog-service .
#   docker run --init --name catalog -p 127.0.0.1:8080:8080 -v catalog:/data catalog-service
# The second command starts everything in one process. In an empty volume it creates a demo store and prints its keys;
# `-e DEMO=off` creates none.
ARG NODE_IMAGE=node:24.21.0-bookworm-slim

# Two stages that change only with the lock file: all packages, and those that the service needs to run, with the list of
# them (SBOM).
FROM ${NODE_IMAGE} AS packages
WORKDIR /app
COPY package.json package-lock.json ./
COPY shared/client/package.json shared/client/
COPY services/web/console/package.json services/web/console/
RUN npm ci --no-fund --no-audit

FROM packages AS dependencies
RUN npm prune --omit=dev --no-fund --no-audit
# `npm sbom --omit=dev` leaves out what a development package needs, too, even if the service needs it.
RUN npm pkg delete devDependencies && npm pkg delete devDependencies -w catalog-console \
  && npm sbom --sbom-format=cyclonedx --sbom-type=application >sbom.json

FROM packages AS build
COPY tsconfig.json tsconfig.client.json tsconfig.client-esm.json ./
COPY services services
COPY shared shared
COPY projections projections
# .dockerignore leaves out the tests.
RUN npx tsc -p tsconfig.json --incremental false \
  && npm run -s build -w catalog-client && npm run -s build -w catalog-console

FROM ${NODE_IMAGE}
# The service neither installs nor builds. Without these tools, the image is smaller, and a scanner
# finds fewer vulnerabilities.
RUN rm -rf /usr/local/lib/node_modules /usr/local/bin/npm /usr/local/bin/npx /usr/local/bin/corepack \
    /usr/local/bin/yarn /usr/local/bin/yarnpkg /opt/yarn-* \
  && printf '#!/bin/sh\nexec node /app/dist/services/cli/main.js "$@"\n' >/usr/local/bin/catalog \
  && chmod 755 /usr/local/bin/catalog \
  && install -d -o node -g node -m 700 /data
WORKDIR /app
COPY package.json ./
COPY --from=dependencies /app/sbom.json ./
COPY --from=dependencies /app/node_modules node_modules
COPY --from=build /app/dist dist
COPY services/demo/pictures services/demo/pictures
COPY services/demo/catalog.jsonl services/demo/
# WORKER_PORT: a worker serves /health and /metrics on the port on which the other processes serve everything.
# MALLOC_ARENA_MAX: by default, glibc keeps freed memory for each thread that has rendered a picture.
# --max-semi-space-size: memory for short-lived objects, as in `npm start`. With 64 MB, a process takes 50 MB more and no
# less CPU.
ENV NODE_ENV=production HOST=0.0.0.0 PORT=8080 WORKER_PORT=8080 DATA_DIR=/data MALLOC_ARENA_MAX=2 \
    NODE_OPTIONS=--max-semi-space-size=16
USER node
VOLUME /data
EXPOSE 8080
# On SIGTERM a process takes no new request, finishes those that run, and releases its leases, within 15 s.
STOPSIGNAL SIGTERM
# Asks /health/live, not /health/ready: a process that waits for a server must not be replaced, because the new one
# would wait as well.
# A worker listens on WORKER_PORT, the others on PORT. `http.get` without NODE_OPTIONS needs a third of the CPU time of
# `fetch` with them. No --start-interval: engines before 25 do not know it.
HEALTHCHECK --interval=10s --timeout=5s --start-period=40s --retries=3 \
  CMD ["env", "NODE_OPTIONS=", "node", "-e", "process.exitCode = 1; const { PORT, WORKER_PORT } = process.env; for (const port of [PORT, WORKER_PORT]) require('http').get(`http://127.0.0.1:${port}/health/live`, (r) => process.exit(r.statusCode === 200 ? 0 : 1)).on('error', () => {})"]
CMD ["node", "dist/services/boot/main.js"]
