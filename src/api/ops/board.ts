/**
 * Bull-board's API, page and files in Koa. Its own adapter for Koa brings two template engines for that one page.
 */
import { readFileSync, readdirSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { extname, join } from 'node:path'
import Router from '@koa/router'
import type {
  AppControllerRoute,
  AppViewRoute,
  BullBoardQueues,
  IServerAdapter,
  UIConfig,
} from '@bull-board/api/typings/app'
import type { Context, Middleware } from 'koa'
import { ApiError } from '../../shared/platform/errors.ts'

/** Reads what a request sends; an empty object where it sends nothing. */
type ReadBody = (ctx: Context) => Promise<Record<string, unknown>>

/** The page names a style sheet of another host, which its policy refuses: the line is removed. */
const FOREIGN_STYLES = /<link href="https:[^>]*>\s*/g

/** A value in the page: `<%= name %>`, or `<%- name %>` for one that is safe already. */
const VALUE = /<%([=-]) (\w+) %>/g

const ENTITIES: Record<string, string> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;', "'": '&#39;' }
const escaped = (text: string): string => text.replace(/[&<>"']/g, (one) => ENTITIES[one]!)

const listOf = <T>(oneOrMany: T | T[]): T[] => (Array.isArray(oneOrMany) ? oneOrMany : [oneOrMany])

/** What `createBullBoard` fills, and what serves requests from then on. */
export class Board implements IServerAdapter {
  private readonly basePath: string
  private readonly readBody: ReadBody
  private readonly router = new Router({ sensitive: true, strict: true })
  private readonly files = new Map<string, string>()
  private queues: BullBoardQueues = new Map()
  private uiConfig: UIConfig = {}
  private views = ''

  constructor(basePath: string, readBody: ReadBody) {
    this.basePath = basePath
    this.readBody = readBody
  }

  /** What answers requests below `basePath`. @throws ApiError not_found; the error of Redis if it is unreachable */
  middleware(): (ctx: Context) => Promise<void> {
    const dispatch = this.router.routes() as unknown as Middleware
    return async (ctx) => {
      const { path } = ctx
      ctx.path = path.slice(this.basePath.length) || '/'
      try {
        await (this.files.has(ctx.path) ? this.sendFile(ctx) : dispatch(ctx, notFound))
      } finally {
        ctx.path = path
      }
    }
  }

  setQueues(queues: BullBoardQueues): this {
    this.queues = queues
    return this
  }

  setViewsPath(path: string): this {
    this.views = path
    return this
  }

  setStaticPath(route: string, folder: string): this {
    for (const entry of readdirSync(folder, { recursive: true, withFileTypes: true })) {
      const path = join(entry.parentPath, entry.name)
      if (entry.isFile()) this.files.set(`${route}${path.slice(folder.length)}`, path)
    }
    return this
  }

  setUIConfig(config: UIConfig): this {
    this.uiConfig = config
    return this
  }

  /** Errors are answered like everywhere else. */
  setErrorHandler(): this {
    return this
  }

  setEntryRoute(entry: AppViewRoute): this {
    this.router[entry.method](entry.route, (ctx) => {
      const { name, params } = entry.handler({ basePath: this.basePath, uiConfig: this.uiConfig })
      const values = params as Record<string, string>
      ctx.type = 'html'
      ctx.body = readFileSync(join(this.views, name), 'utf8')
        .replace(FOREIGN_STYLES, '')
        .replace(VALUE, (_all, how: string, value: string) => (how === '-' ? values[value]! : escaped(values[value]!)))
    })
    return this
  }

  setApiRoutes(routes: AppControllerRoute[]): this {
    for (const route of routes) {
      this.router.register(route.route, listOf(route.method), async (ctx) => {
        const answer = await route.handler({
          queues: this.queues,
          uiConfig: this.uiConfig,
          params: ctx.params,
          query: ctx.query,
          body: await this.readBody(ctx),
          headers: ctx.headers as Record<string, string>,
        })
        ctx.status = answer.status ?? 200
        ctx.body = answer.body
      })
    }
    return this
  }

  private async sendFile(ctx: Context): Promise<void> {
    ctx.type = extname(ctx.path)
    ctx.body = await readFile(this.files.get(ctx.path)!)
  }
}

const notFound = async (): Promise<never> => {
  throw new ApiError('not_found')
}
