/**
 * The frame around every page of somebody who is signed in.
 */
import type { ComponentChildren } from 'preact'
import { useLayoutEffect, useState } from 'preact/hooks'
import type { LucideIcon } from 'lucide-preact'
import {
  BookOpen,
  Coins,
  Images,
  KeyRound,
  LayoutDashboard,
  LifeBuoy,
  List,
  Menu,
  MessageSquare,
  Boxes,
  Settings,
  ShieldCheck,
  Users,
  Webhook,
} from 'lucide-preact'
import { account, live, mayManage, reconnecting } from '../state/account.ts'
import { AccountMenu } from './account-menu.tsx'
import { Brand } from './brand.tsx'
import { number } from './format.ts'
import { SearchButton } from './search-button.tsx'

/** `of`: who may use a page, if not everybody: owner and admins, or those who act for an organisation. */
type PageLink = { href: string; name: string; icon: LucideIcon; of?: 'managers' | 'organisation' }
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
      { href: '/members', name: 'Members', icon: Users, of: 'organisation' },
      { href: '/webhooks', name: 'Webhooks', icon: Webhook, of: 'managers' },
      { href: '/credits', name: 'Credits', icon: Coins, of: 'managers' },
      { href: '/settings', name: 'Settings', icon: Settings },
    ],
  },
]

const OPERATE: Group = { name: 'Operate', links: [{ href: '/operator', name: 'Operator', icon: ShieldCheck }] }

/** Below this balance the header shows a warning. */
export const LOW_CREDITS = 50

export function Shell({ path, children }: { path: string; children: ComponentChildren }) {
  const [open, setOpen] = useState(false)
  // On a phone the menu covers the page: it closes with the page on which it was opened.
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
        <Brand href="/overview" size={28} />
        <SearchButton />
        <Balance />
        <AccountMenu />
        {account.value?.organisation && (
          <p class="acting-bar">
            Acting for <strong>{account.value.organisation.name}</strong>
          </p>
        )}
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

/** Whether a page is for the user who is signed in. */
const isFor = ({ of }: PageLink): boolean =>
  of === 'managers' ? mayManage() : of === 'organisation' ? Boolean(account.value?.organisation) : true

function Pages({ path, open }: { path: string; open: boolean }) {
  const groups = account.value?.role === 'admin' ? [...GROUPS, OPERATE] : GROUPS
  return (
    <nav id="pages" class={open ? 'pages open' : 'pages'} aria-label="Pages">
      {groups.map(({ name, links }) => (
        <div key={name} class="group" role="group" aria-label={name}>
          <small aria-hidden="true">{name}</small>
          {links.filter(isFor).map((link) => (
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
      <div class="group foot">
        <a href="/help" aria-current={path.startsWith('/help') ? 'page' : undefined}>
          <LifeBuoy size={17} aria-hidden="true" />
          Help
        </a>
        <a href="/docs" aria-current={path === '/docs' ? 'page' : undefined}>
          <BookOpen size={17} aria-hidden="true" />
          API reference
        </a>
      </div>
    </nav>
  )
}

/** The balance, and what running calls hold beyond it; a dot shows whether it is up to date. */
function Balance() {
  const now = account.value
  // Only owner and admins see where they come from.
  return (
    <a
      class={now && now.credits < LOW_CREDITS ? 'balance low' : 'balance'}
      href={mayManage() ? '/credits' : '/overview'}
    >
      <span class={live.value ? 'dot on' : 'dot'} title={live.value ? 'Up to date' : 'Connecting…'} />
      <span class="digits" data-testid="balance">
        {now ? number(now.credits) : '…'}
      </span>{' '}
      credits
      {now && now.held > 0 ? <small class="held"> · {number(now.held)} held</small> : null}
    </a>
  )
}
