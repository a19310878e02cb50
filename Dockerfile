# One image, three commands:
#   node dist/src/api/main.js        web (the default)
#   node dist/src/workers/main.js    worker
#   node dist/src/admin/migrate.js   migrations and catalogue, once before a release; for a catalogue of your own mount a
#                                    folder at /app/catalogue, and set MODELS_FILE=catalogue/models.json
# Build it with --build-arg VERSION=0.2.0 --build-arg REVISION=$(git rev-parse HEAD), which become its labels.

FROM node:24-slim AS build
WORKDIR /app
COPY package.json package-lock.json ./
RUN npm ci
COPY . .
RUN npm run build && npm prune --omit=dev
# npm keeps the compiler, since a package could make use of it; and nothing that runs reads maps and types.
RUN rm -r node_modules/typescript node_modules/@typescript node_modules/.bin \
  && find node_modules -type f \( -name '*.map' -o -name '*.d.ts' -o -name '*.d.mts' -o -name '*.d.cts' \) -delete

FROM node:24-slim
ARG VERSION=unreleased
ARG REVISION=unknown
LABEL org.opencontainers.image.title="Tollgate" \
  org.opencontainers.image.description="A self-hosted model gateway with prepaid credits" \
  org.opencontainers.image.version="$VERSION" \
  org.opencontainers.image.revision="$REVISION"
# Workers serve their health there.
ENV NODE_ENV=production HEALTH_PORT=3001
WORKDIR /app
COPY --from=build /app/package.json /app/models.json /app/models.example.json ./
COPY --from=build /app/node_modules ./node_modules
COPY --from=build /app/assets ./assets
COPY --from=build /app/docs ./docs
COPY --from=build /app/dist ./dist
# Media results and the mail file, where no bucket and no mail server are configured: mount a volume here.
RUN mkdir .data && chown node:node .data
USER node
EXPOSE 3000 3001
# Whether the process lives, web or worker. Whether it can work (/readyz) is for who sends it requests.
HEALTHCHECK --interval=10s --timeout=5s --start-period=30s CMD ["node", "-e", \
  "Promise.any([process.env.PORT || 3000, process.env.HEALTH_PORT].map((port) => fetch('http://127.0.0.1:' + port + '/healthz').then((r) => r.ok || Promise.reject()))).then(() => process.exit(0), () => process.exit(1))"]
CMD ["node", "dist/src/api/main.js"]
