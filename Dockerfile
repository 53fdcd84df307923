# One image for gateway, worker and scripted-model, which differ in their command alone, and a small one for the load
# balancer. Node runs the TypeScript as it is: only the console, for browsers, is built.
# Written for the classic builder and for BuildKit: no `RUN --mount`, no `COPY --parents`.

# The tree as the services read it: for every user, whatever the umask of the checkout. The manifests stand apart, so
# that a change of code does not install the packages again, and a new package needs no line here.
FROM node:24-bookworm-slim AS source
WORKDIR /source
COPY . .
RUN chmod -R a+rX,go-w . \
 && mkdir /manifests \
 && find . -name package.json -exec cp --parents -t /manifests {} + \
 && cp package-lock.json /manifests

FROM node:24-bookworm-slim AS load-balancer
RUN apt-get update \
 && apt-get install -y --no-install-recommends haproxy \
 && apt-get clean && rm -rf /var/lib/apt/lists/*
COPY --from=source /source/services/gateway/haproxy.cfg /etc/haproxy/haproxy.cfg
USER haproxy
EXPOSE 8080
# Asks HAProxy to finish what it has begun; SIGTERM would cut it.
STOPSIGNAL SIGUSR1
CMD ["haproxy", "-db", "-f", "/etc/haproxy/haproxy.cfg"]

# The operator's console, as static files.
FROM node:24-bookworm-slim AS console
WORKDIR /app
COPY --from=source /manifests .
RUN npm ci --ignore-scripts --no-audit --no-fund --workspace services/console
COPY --from=source /source/tsconfig.json .
COPY --from=source /source/services/console services/console
RUN node node_modules/vite/bin/vite.js build services/console --logLevel warn

FROM node:24-bookworm-slim AS services
ENV NODE_ENV=production
WORKDIR /app
# What agents with a workspace run in their sandbox.
RUN apt-get update \
 && apt-get install -y --no-install-recommends bubblewrap ca-certificates git python3 \
 && apt-get clean && rm -rf /var/lib/apt/lists/* \
 && mkdir /files /scratch && chown node:node /files /scratch
COPY --from=source /manifests .
# Scripts of packages are not run: the few that have one bring it for tests or for an optional speed-up.
RUN npm ci --omit=dev --ignore-scripts --no-audit --no-fund \
      --workspace services/gateway --workspace services/worker --workspace services/scripted-model \
 && rm -rf /root/.npm
COPY --from=source /source/libs libs
COPY --from=source /source/services services
COPY --from=console /app/services/console/dist services/console/dist
USER node
# The gateway serves every address of its container; without a key it refuses to start (see its config.ts).
ENV HOST=0.0.0.0
EXPOSE 8080
# Run it with an init (`docker run --init`, `init: true`): a worker's sessions leave children behind.
CMD ["node", "services/gateway/src/main.ts"]
