/**
 * Which page an address shows, and who may see it.
 */
import type { ComponentType } from 'preact'
import { useEffect, useLayoutEffect } from 'preact/hooks'
import { useLocation } from 'preact-iso'
import { exec } from 'preact-iso/router'
import { t } from './language/language.ts'
import { hasEnded, mustAddFactor, token } from './state/session.ts'
import { isSiteKnown, site } from './state/site.ts'
import { ForgotPage, NotFoundPage, SignInPage, SignUpPage } from './pages/signed-out.tsx'
import { SignInAgain } from './pages/sign-in-again.tsx'
import { AccessPage, NewAddressPage, ResetPage, VerifyPage } from './pages/mailed-links.tsx'
import { lazyPage } from './parts/lazy.tsx'
import { ProofDialog } from './parts/prove.tsx'
import { PublicFrame } from './parts/public-frame.tsx'
import type { PageProps } from './parts/route.ts'
import { Managed } from './parts/managed.tsx'
import { Shell } from './parts/shell.tsx'
import { OverviewPage } from './pages/overview.tsx'
import { safeNext } from './parts/next-page.ts'

const MustAddFactorPage = lazyPage(async () => (await import('./pages/must-add-factor.tsx')).MustAddFactorPage)

/**
 * `managed`: the title of a page that is for owner and admins of the account alone. `open`: whether visitors see it who
 * are not signed in; null while that is not known; no if absent.
 */
type Route = { path: string; page: ComponentType<PageProps>; managed?: string; open?: () => boolean | null }

/** Pages for everybody. */
const OUTSIDE: Route[] = [
  { path: '/sign-in', page: SignInPage },
  { path: '/sign-up', page: SignUpPage },
  { path: '/forgot', page: ForgotPage },
  { path: '/reset', page: ResetPage },
  { path: '/verify', page: VerifyPage },
  { path: '/new-address', page: NewAddressPage },
  { path: '/access', page: AccessPage },
  { path: '/invitation', page: lazyPage(async () => (await import('./pages/invitation.tsx')).InvitationPage) },
  { path: '/claim', page: lazyPage(async () => (await import('./pages/claim.tsx')).ClaimPage) },
  {
    path: '/sign-in/done',
    page: lazyPage(async () => (await import('./pages/provider-return.tsx')).ProviderReturnPage),
  },
  { path: '/sign-in/mail', page: lazyPage(async () => (await import('./pages/provider-return.tsx')).SignInLinkPage) },
  { path: '/dev/mail', page: lazyPage(async () => (await import('./pages/local-mails.tsx')).LocalMailsPage) },
]

const always = (): boolean => true

const helpPage = lazyPage(async () => (await import('./pages/help/page.tsx')).HelpPage)

/** Pages for a user who is signed in; visitors see those that are open. */
const INSIDE: Route[] = [
  { path: '/overview', page: OverviewPage },
  { path: '/calls/:id?', page: lazyPage(async () => (await import('./pages/calls.tsx')).CallsPage) },
  {
    path: '/playground/:kind?',
    page: lazyPage(async () => (await import('./pages/playground/page.tsx')).PlaygroundPage),
  },
  {
    path: '/operator/:section?/:id?',
    page: lazyPage(async () => (await import('./pages/operator/page.tsx')).OperatorPage),
  },
  { path: '/keys', page: lazyPage(async () => (await import('./pages/keys.tsx')).KeysPage) },
  {
    path: '/webhooks/:id?',
    page: lazyPage(async () => (await import('./pages/webhooks/page.tsx')).WebhooksPage),
    managed: t.frame.page.webhooks,
  },
  {
    path: '/credits',
    page: lazyPage(async () => (await import('./pages/credits/page.tsx')).CreditsPage),
    managed: t.frame.page.credits,
  },
  { path: '/members', page: lazyPage(async () => (await import('./pages/members/page.tsx')).MembersPage) },
  {
    path: '/models/:id?',
    page: lazyPage(async () => (await import('./pages/models.tsx')).ModelsPage),
    open: () => (isSiteKnown.value ? site.value.publicCatalogue : null),
  },
  {
    path: '/docs',
    page: lazyPage(async () => (await import('./pages/reference/page.tsx')).ReferencePage),
    open: always,
  },
  { path: '/help/:page?', page: helpPage, open: always },
  { path: '/help/:folder/:page', page: helpPage, open: always },
  { path: '/gallery', page: lazyPage(async () => (await import('./pages/gallery.tsx')).GalleryPage) },
  { path: '/settings', page: lazyPage(async () => (await import('./pages/settings/page.tsx')).SettingsPage) },
]

/** Pages that are of no use to a signed-in user. */
const ENTRANCES = new Set(['/', '/sign-in', '/sign-up'])

function find(routes: Route[], path: string) {
  for (const { path: pattern, page, managed, open } of routes) {
    const match = exec(path, pattern, { path, query: {}, params: {} })
    if (match) return { pattern, managed, isOpen: open ? open() : false, Component: page, params: match.params }
  }
  return null
}

export function App() {
  const { path, url, query, route } = useLocation()
  const signedIn = token.value !== null
  const inside = find(INSIDE, path)
  const outside = find(OUTSIDE, path)
  const redirect =
    signedIn && ENTRANCES.has(path)
      ? safeNext(query.next)
      : !signedIn && inside?.isOpen === false
        ? `/sign-in?next=${encodeURIComponent(url)}`
        : null
  useEffect(() => {
    if (redirect !== null) route(redirect, true)
  }, [redirect])
  useLayoutEffect(() => scrollTo(0, 0), [inside?.pattern, outside?.pattern])

  if (redirect !== null || (!signedIn && inside?.isOpen === null)) return null
  if (inside && !signedIn)
    return (
      <PublicFrame>
        <inside.Component params={inside.params} query={query} />
      </PublicFrame>
    )
  if (inside && mustAddFactor.value) return <MustAddFactorPage params={{}} query={query} />
  if (inside)
    return (
      <Shell path={path}>
        <Managed key={inside.pattern} title={inside.managed}>
          <inside.Component params={inside.params} query={query} />
        </Managed>
        {hasEnded.value && <SignInAgain />}
        <ProofDialog />
      </Shell>
    )
  if (outside) return <outside.Component key={outside.pattern} params={outside.params} query={query} />
  return path === '/' ? <SignInPage /> : <NotFoundPage />
}
