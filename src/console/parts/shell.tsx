/**
 * The frame around every page of somebody who is signed in.
 */
import type { ComponentChildren } from 'preact'
import { useEffect, useLayoutEffect, useRef, useState } from 'preact/hooks'
import type { LucideIcon } from 'lucide-preact'
import {
  BookOpen,
  ChevronDown,
  Coins,
  Images,
  KeyRound,
  LayoutDashboard,
  List,
  Menu,
  MessageSquare,
  Boxes,
  Settings,
  ShieldCheck,
  Webhook,
} from 'lucide-preact'
import { revokeKey, signOut } from '../api/endpoints.ts'
import { account, live, reconnecting } from '../state/account.ts'
import { forgetToken, ownKey, token } from '../state/session.ts'
import { Email, Mark } from './basics.tsx'
import { number } from './format.ts'

type PageLink = { href: string; name: string; icon: LucideIcon }
type Group = { name: string; links: PageLink[] }

const GROUPS: Group[] = [
  {
    name: 'Use',
    links: [
      { href: '/overview', name: 'Overview', icon: LayoutDashboard },
      { href: '/playground', name: 'Playground', icon: MessageSquare },
      { href: '/models', name: 'Models', icon: Boxes },
      { href: '/calls', name: 'Calls', icon: List },
      { href: '/gallery', name: 'Gallery', icon: Images },
    ],
  },
  {
    name: 'Account',
    links: [
      { href: '/keys', name: 'Keys', icon: KeyRound },
      { href: '/webhooks', name: 'Webhooks', icon: Webhook },
      { href: '/credits', name: 'Credits', icon: Coins },
      { href: '/settings', name: 'Settings', icon: Settings },
    ],
  },
]

const OPERATE: Group = { name: 'Operate', links: [{ href: '/operator', name: 'Operator', icon: ShieldCheck }] }

/** Below this balance the header says so. */
export const LOW_CREDITS = 50

export function Shell({ path, children }: { path: string; children: ComponentChildren }) {
  const [open, setOpen] = useState(false)
  // On a phone the menu lies over the page: it goes with the page it was opened on.
  useLayoutEffect(() => setOpen(false), [path])
  return (
    <div class="shell">
      <a class="skip" href="#content">
        Skip to content
      </a>
      <header class="top">
        <button
          type="button"
          class="quiet burger"
          aria-label="Menu"
          aria-expanded={open}
          aria-controls="pages"
          onClick={() => setOpen(!open)}
        >
          <Menu size={20} aria-hidden="true" />
        </button>
        <a class="brand" href="/overview">
          <Mark size={28} />
          <span>Tollgate</span>
        </a>
        <Balance />
        <AccountMenu />
      </header>
      {reconnecting.value && (
        <p class="reconnecting" role="status">
          The connection was lost. Reconnecting…
        </p>
      )}
      <Pages path={path} open={open} />
      <main id="content" tabIndex={-1}>
        {children}
      </main>
    </div>
  )
}

function Pages({ path, open }: { path: string; open: boolean }) {
  const groups = account.value?.role === 'admin' ? [...GROUPS, OPERATE] : GROUPS
  return (
    <nav id="pages" class={open ? 'pages open' : 'pages'} aria-label="Pages">
      {groups.map(({ name, links }) => (
        <div key={name} class="group" role="group" aria-label={name}>
          <small aria-hidden="true">{name}</small>
          {links.map((link) => (
            <a
              key={link.href}
              href={link.href}
              aria-current={path === link.href || path.startsWith(`${link.href}/`) ? 'page' : undefined}
            >
              <link.icon size={17} aria-hidden="true" />
              {link.name}
            </a>
          ))}
        </div>
      ))}
      <a href="/docs">
        <BookOpen size={17} aria-hidden="true" />
        API docs
      </a>
    </nav>
  )
}

/** Who is signed in, and the way out. */
function AccountMenu() {
  const menu = useRef<HTMLDetailsElement>(null)
  useEffect(() => {
    const shut = (event: Event): void => {
      if (event.type === 'keydown' && (event as KeyboardEvent).key !== 'Escape') return
      if (event.type === 'pointerdown' && menu.current?.contains(event.target as Node)) return
      menu.current?.removeAttribute('open')
    }
    addEventListener('pointerdown', shut)
    addEventListener('keydown', shut)
    return () => {
      removeEventListener('pointerdown', shut)
      removeEventListener('keydown', shut)
    }
  }, [])
  const email = account.value?.user.email ?? ''
  return (
    <details class="account" ref={menu}>
      <summary aria-label={`Account ${email}`}>
        <span class="initial" aria-hidden="true">
          {email.slice(0, 1).toUpperCase() || '…'}
        </span>
        <ChevronDown size={15} aria-hidden="true" />
      </summary>
      <div class="sheet">
        <p>
          <small class="soft">Signed in as</small>
          <br />
          <Email address={email} />
        </p>
        <a href="/settings">Settings</a>
        <button type="button" class="small quiet" onClick={leave}>
          Sign out
        </button>
      </div>
    </details>
  )
}

/** The balance, and what running calls hold beyond it; a dot shows whether it is up to date. */
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

/**
 * This browser drops the session at once, whether or not the server can be reached. The key that the playground made
 * ends first: a session that is over revokes nothing.
 */
function leave(): void {
  const [key, session] = [ownKey(), token.peek()]
  const revoked = key === null ? Promise.resolve() : revokeKey(key)
  revoked
    .catch(() => {})
    .then(() => signOut(session))
    .catch(() => {})
  forgetToken()
}
