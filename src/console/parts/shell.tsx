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
import { t } from '../language/language.ts'
import { account, live, mayManage, reconnecting } from '../state/account.ts'
import { AccountMenu } from './account-menu.tsx'
import { Brand } from './brand.tsx'
import { number } from './format.ts'
import { SearchButton } from './search-button.tsx'

/** `of`: who may use a page, if not everybody: owner and admins, or those who act for an organisation. */
type PageLink = { href: string; name: string; icon: LucideIcon; of?: 'managers' | 'organisation' }
type Group = { name: string; links: PageLink[] }

const { page } = t.frame

const GROUPS: Group[] = [
  {
    name: t.frame.groups.use,
    links: [
      { href: '/overview', name: page.overview, icon: LayoutDashboard },
      { href: '/playground', name: page.playground, icon: MessageSquare },
      { href: '/models', name: page.models, icon: Boxes },
      { href: '/calls', name: page.calls, icon: List },
      { href: '/gallery', name: page.gallery, icon: Images },
    ],
  },
  {
    name: t.frame.groups.account,
    links: [
      { href: '/keys', name: page.keys, icon: KeyRound },
      { href: '/members', name: page.members, icon: Users, of: 'organisation' },
      { href: '/webhooks', name: page.webhooks, icon: Webhook, of: 'managers' },
      { href: '/credits', name: page.credits, icon: Coins, of: 'managers' },
      { href: '/settings', name: page.settings, icon: Settings },
    ],
  },
]

const OPERATE: Group = {
  name: t.frame.groups.operate,
  links: [{ href: '/operator', name: page.operator, icon: ShieldCheck }],
}

/** Below this balance the header shows a warning. */
export const LOW_CREDITS = 50

export function Shell({ path, children }: { path: string; children: ComponentChildren }) {
  const [open, setOpen] = useState(false)
  // On a phone the menu covers the page: it closes with the page on which it was opened.
  useLayoutEffect(() => setOpen(false), [path])
  return (
    <div class="shell">
      <a class="skip" href="#content">
        {t.frame.skip}
      </a>
      <header class="top">
        <button
          type="button"
          class="quiet burger"
          aria-label={t.frame.menu}
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
          <p class="acting-bar">{t.frame.actingFor(<strong>{account.value.organisation.name}</strong>)}</p>
        )}
      </header>
      {reconnecting.value && (
        <p class="reconnecting" role="status">
          {t.frame.reconnecting}
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
    <nav id="pages" class={open ? 'pages open' : 'pages'} aria-label={t.frame.pages}>
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
          {page.help}
        </a>
        <a href="/docs" aria-current={path === '/docs' ? 'page' : undefined}>
          <BookOpen size={17} aria-hidden="true" />
          {page.reference}
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
      <span class={live.value ? 'dot on' : 'dot'} title={live.value ? t.frame.upToDate : t.frame.connecting} />
      <span class="digits" data-testid="balance">
        {now ? number(now.credits) : '…'}
      </span>{' '}
      {t.frame.credits}
      {now && now.held > 0 ? <small class="held">{t.frame.held(number(now.held))}</small> : null}
    </a>
  )
}
