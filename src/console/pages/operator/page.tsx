/**
 * The operator's pages: a home, and one for each thing that operators read or change.
 */
import { useEffect, useRef } from 'preact/hooks'
import { Empty, Loading, Page } from '../../parts/basics.tsx'
import { Collapsible } from '../../parts/collapsible.tsx'
import type { PageProps } from '../../parts/route.ts'
import { account } from '../../state/account.ts'
import { buying } from '../../state/billing.ts'
import { AccountSection } from './account.tsx'
import { AccountsSection } from './accounts.tsx'
import { ActionsSection } from './actions.tsx'
import { BannerSection } from './banner.tsx'
import { CallsSection } from './calls.tsx'
import { MarginsSection } from './margins.tsx'
import { CatalogueSection } from './catalogue.tsx'
import { CodesSection } from './codes.tsx'
import { DebtsSection } from './debts.tsx'
import { PaymentSection } from './payment.tsx'
import { PaymentsSection } from './payments.tsx'
import { HomeSection } from './home.tsx'
import { MailsSection } from './mails.tsx'
import { UpstreamsSection } from './upstreams.tsx'
import { WebhookSection } from './webhook.tsx'
import { WebhooksSection } from './webhooks.tsx'

/** Each with its name among the sections, and its heading where that is another. */
const SECTIONS: readonly (readonly [section: string, name: string, heading?: string])[] = [
  ['home', 'Home', 'Operator home'],
  ['accounts', 'Accounts'],
  ['calls', 'Calls'],
  ['payments', 'Payments'],
  ['codes', 'Codes'],
  ['debts', 'Debts'],
  ['mails', 'E-mails', 'Undelivered e-mails'],
  ['upstreams', 'Upstreams'],
  ['margins', 'Margins'],
  ['catalogue', 'Catalogue'],
  ['banner', 'Banner'],
  ['webhooks', 'Webhooks'],
  ['actions', 'Audit', 'Audit log'],
]

/** The headings of the sections' own pages about one thing. */
const ONE: Record<string, string> = { accounts: 'Account', calls: 'Calls', payments: 'Payment', webhooks: 'Webhook' }

/** Without a provider there are no payments. */
const sections = () => SECTIONS.filter(([one]) => one !== 'payments' || buying()?.provider != null)

export function OperatorPage({ params, query }: PageProps) {
  const found = SECTIONS.find(([one]) => one === (params.section ?? 'home'))
  const [section, name, heading = name] = found ?? ['', 'Page not found']
  const title = (params.id && ONE[section]) || heading
  const role = account.value?.role
  if (role === undefined) {
    return (
      <Page title={title}>
        <Loading rows={8} />
      </Page>
    )
  }
  if (role !== 'admin') {
    return (
      <Page title="Operator">
        <section class="panel">
          <Empty title="This page is for operators">Your account does not have access to it.</Empty>
        </section>
      </Page>
    )
  }
  if (!found || (params.id && !ONE[section])) {
    return (
      <Page title="Page not found">
        <Sections current="" name="none" />
        <section class="panel">
          <Empty title="There is no such page">
            Choose one above, or go to the <a href="/operator">operator home</a>.
          </Empty>
        </section>
      </Page>
    )
  }
  return (
    <Page title={title}>
      <Sections current={section} name={name} />
      {section === 'home' && <HomeSection />}
      {section === 'accounts' &&
        (params.id ? <AccountSection key={params.id} id={params.id} /> : <AccountsSection query={query} />)}
      {section === 'payments' &&
        (params.id ? <PaymentSection key={params.id} id={params.id} /> : <PaymentsSection query={query} />)}
      {section === 'codes' && <CodesSection />}
      {section === 'debts' && <DebtsSection />}
      {section === 'calls' && <CallsSection id={params.id} query={query} />}
      {section === 'mails' && <MailsSection query={query} />}
      {section === 'upstreams' && <UpstreamsSection />}
      {section === 'margins' && <MarginsSection />}
      {section === 'catalogue' && <CatalogueSection />}
      {section === 'banner' && <BannerSection />}
      {section === 'webhooks' &&
        (params.id ? <WebhookSection key={params.id} id={params.id} query={query} /> : <WebhooksSection />)}
      {section === 'actions' && <ActionsSection query={query} />}
    </Page>
  )
}

/** The sections: a strip, in which the current one is brought into sight, on a tablet; on a phone a menu. */
function Sections({ current, name }: { current: string; name: string }) {
  const strip = useRef<HTMLElement>(null)
  const shown = sections()
  useEffect(() => {
    const link = strip.current?.querySelector<HTMLElement>('[aria-current]')
    if (link) strip.current!.scrollLeft = link.offsetLeft - (strip.current!.clientWidth - link.offsetWidth) / 2
  }, [current, shown.length])
  return (
    <Collapsible key={current} name={`Section: ${name}`}>
      <nav ref={strip} class="tabs strip" aria-label="Sections">
        {shown.map(([one, title]) => (
          <a key={one} href={`/operator/${one}`} aria-current={one === current ? 'page' : undefined}>
            {title}
          </a>
        ))}
      </nav>
    </Collapsible>
  )
}
