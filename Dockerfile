# One image, three commands:
#   node dist/src/api/main.js        web (the default)
#   node dist/src/workers/main.js    worker
#   node dist/src/admin/migrate.js   migrations and catalogue, once before a release; for a catalogue of your own mount a
#                                    folder at /app/catalogue, and set MODELS_FILE=catalogue/models.json

FROM node:24-slim AS build
WORKDIR /app
COPY package.json package-lock.json ./
RUN npm ci
COPY . .
RUN npm run build && npm prune --omit=dev

FROM node:24-slim
ENV NODE_ENV=production
WORKDIR /app
COPY --from=build /app/package.json /app/models.json /app/models.example.json ./
COPY --from=build /app/node_modules ./node_modules
COPY --from=build /app/assets ./assets
COPY --from=build /app/dist ./dist
# Media results and the mail file, where no bucket and no mail server are configured: mount a volume here.
RUN mkdir .data && chown node:node .data
USER node
EXPOSE 3000
CMD ["node", "dist/src/api/main.js"]
