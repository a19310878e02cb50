/**
 * The operator's pages: a home, and one for each thing that operators read or change.
 */
import { useEffect, useRef } from 'preact/hooks'
import { t } from '../../language/language.ts'
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

const words = t.operator

/** Each with its name among the sections. */
const SECTIONS = Object.entries(words.names)

/** The headings of sections that differ from their names. */
const HEADINGS: Record<string, string> = words.headings

/** The headings of the sections' own pages about one thing. */
const ONE: Record<string, string> = words.ones

/** Without a provider there are no payments. */
const sections = () => SECTIONS.filter(([one]) => one !== words.payments || buying()?.provider != null)

export function OperatorPage({ params, query }: PageProps) {
  const found = SECTIONS.find(([one]) => one === (params.section ?? 'home'))
  const [section, name] = found ?? ['', words.notFound]
  const title = (params.id && ONE[section]) || HEADINGS[section] || name
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
      <Page title={t.frame.page.operator}>
        <section class="panel">
          <Empty title={words.forOperators}>{words.noAccess}</Empty>
        </section>
      </Page>
    )
  }
  if (!found || (params.id && !ONE[section])) {
    return (
      <Page title={words.notFound}>
        <Sections current="" name={t.words.fields.none} />
        <section class="panel">
          <Empty title={words.noSuchPage}>
            {words.chooseAbove((home) => (
              <a href="/operator">{home}</a>
            ))}
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
      {section === words.payments &&
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
    <Collapsible key={current} name={words.section(name)}>
      <nav ref={strip} class="tabs strip" aria-label={words.sections}>
        {shown.map(([one, title]) => (
          <a key={one} href={`/operator/${one}`} aria-current={one === current ? 'page' : undefined}>
            {title}
          </a>
        ))}
      </nav>
    </Collapsible>
  )
}
