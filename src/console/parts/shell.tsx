/**
 * The frame around every page of somebody who is signed in.
 */
import type { ComponentChildren } from 'preact'
import { useEffect, useRef } from 'preact/hooks'
import { signOut } from '../api/endpoints.ts'
import { account, live } from '../state/account.ts'
import { forgetToken } from '../state/session.ts'
import { number } from './format.ts'

const PAGES = [
  ['/overview', 'Overview'],
  ['/calls', 'Calls'],
  ['/playground', 'Playground'],
  ['/keys', 'Keys'],
  ['/credits', 'Credits'],
  ['/models', 'Models'],
  ['/settings', 'Settings'],
] as const

/** Below this balance the header says so. */
const LOW_CREDITS = 50

export function Shell({ path, children }: { path: string; children: ComponentChildren }) {
  const nav = useRef<HTMLElement>(null)
  const pages = account.value?.role === 'admin' ? [...PAGES, ['/operator', 'Operator'] as const] : PAGES
  // On a phone the pages are a row that scrolls: the one that is open must be in sight.
  useEffect(() => {
    const open = nav.current?.querySelector<HTMLElement>('[aria-current]')
    if (open) nav.current!.scrollLeft = open.offsetLeft - (nav.current!.clientWidth - open.offsetWidth) / 2
  }, [path, pages.length])
  return (
    <div class="shell">
      <a class="skip" href="#content">
        Skip to content
      </a>
      <header class="top">
        <a class="brand" href="/overview">
          <img src="/pages/icon.svg" width="28" height="28" alt="" />
          <span>Tollgate</span>
        </a>
        <Balance />
        <button type="button" class="small quiet" onClick={leave}>
          Sign out
        </button>
      </header>
      <nav ref={nav} class="pages" aria-label="Pages">
        {pages.map(([href, name]) => (
          <a key={href} href={href} aria-current={path === href || path.startsWith(`${href}/`) ? 'page' : undefined}>
            {name}
          </a>
        ))}
        <a href="/docs">API docs</a>
      </nav>
      <main id="content" tabIndex={-1}>
        {children}
      </main>
    </div>
  )
}

/** The balance, and what running calls hold beyond it; a dot tells whether it is of this moment. */
function Balance() {
  const now = account.value
  return (
    <a class={now && now.credits < LOW_CREDITS ? 'balance low' : 'balance'} href="/credits">
      <span class={live.value ? 'dot on' : 'dot'} title={live.value ? 'Up to date' : 'Connecting…'} />
      <span class="digits" data-testid="balance">
        {now ? number(now.credits) : '…'}
      </span>{' '}
      credits
      {now && now.held > 0 ? <small class="held"> · {number(now.held)} held</small> : null}
    </a>
  )
}

/** This browser drops the session even if the server cannot be reached. */
function leave(): void {
  void signOut()
    .catch(() => {})
    .finally(() => forgetToken())
}
