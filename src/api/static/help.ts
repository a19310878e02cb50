/**
 * The guides that the console shows at /help: the pages of `docs`, as they are, and the list of them.
 */
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import type Router from '@koa/router'
import type { RequestState } from '../middleware/request-context.ts'
import { jsonAsset, projectFolder, serveAsset, textAsset } from './assets.ts'

/** The guides in their order, by whom they are for, and what they are about in one line. */
const GUIDES = {
  use: {
    'api/README': 'The API: keys, requests, answers',
    agents: 'Claude Code, Codex and other agents',
    'api/chats': 'Chat completions',
    'api/messages': 'Messages, the API of Anthropic',
    'api/responses': 'Responses, the API of OpenAI',
    'api/gemini': 'Gemini, the API of Google',
    'api/images': 'Images',
    'api/videos': 'Videos',
    'api/audio': 'Speech and transcriptions',
    'api/embeddings': 'Embeddings',
    'api/rerank': 'Rankings',
    'api/moderations': 'Moderations',
    'api/models': 'The list of models',
    'api/calls': 'Waiting, fetching again, retries',
    'api/errors': 'Errors',
    'api/limits': 'Limits of requests',
    money: 'What a call costs, holds and refunds',
    webhooks: 'Webhooks',
    organisations: 'Organisations and budgets',
    console: 'The console',
    'console-api': 'The API of the console',
  },
  operate: {
    configuration: 'Configuration',
    'upstreams/README': 'Upstreams',
    'upstreams/models': 'Models of the catalogue',
    'upstreams/openai': 'OpenAI and compatible servers',
    'upstreams/anthropic': 'Anthropic',
    'upstreams/responses': 'Upstreams that speak Responses',
    'upstreams/gemini': 'Gemini',
    'upstreams/openrouter': 'OpenRouter',
    'upstreams/fal': 'fal',
    'upstreams/replicate': 'Replicate',
    'upstreams/answers': 'What upstreams answer',
    pricing: 'Prices, groups and costs',
    payments: 'Payments',
    'accounts-and-mail': 'Accounts and mail',
    operations: 'Operations',
    heroku: 'Heroku',
    upgrading: 'Upgrading',
    scaling: 'Scaling',
    performance: 'Performance',
    guarantees: 'Guarantees',
    architecture: 'Architecture',
  },
} as const

const POLICY = "default-src 'none'; frame-ancestors 'none'"

/** Adds the guides to the table of endpoints: their list, and each as Markdown. */
export function routeHelp(router: Router<RequestState>, folder = join(projectFolder(), 'docs')): void {
  const found = Object.entries(GUIDES).flatMap(([group, guides]) =>
    Object.entries(guides).flatMap(([name, title]) => {
      const path = join(folder, `${name}.md`)
      return existsSync(path) ? [{ group, name, title, path }] : []
    }),
  )
  for (const { name, path } of found) {
    const page = textAsset(readFileSync(path, 'utf8'), 'text/markdown; charset=utf-8')
    router.get(`/pages/help/${name}.md`, serveAsset(page, POLICY))
  }
  const listed = found.map(({ path: _path, ...guide }) => guide)
  router.get('/pages/help.json', serveAsset(jsonAsset({ guides: listed }), POLICY))
}
