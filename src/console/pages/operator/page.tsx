/**
 * The operator's pages: accounts, calls, mails, upstreams, the catalogue, and what operators did.
 */
import { Empty, Page } from '../../parts/basics.tsx'
import type { PageProps } from '../../parts/route.ts'
import { account } from '../../state/account.ts'
import { buying } from '../../state/billing.ts'
import { AccountSection } from './account.tsx'
import { AccountsSection } from './accounts.tsx'
import { MarginsSection } from './margins.tsx'
import { CatalogueSection } from './catalogue.tsx'
import { CodesSection } from './codes.tsx'
import { DebtsSection } from './debts.tsx'
import { PaymentSection } from './payment.tsx'
import { PaymentsSection } from './payments.tsx'
import { ActionsSection, CallSection, MailsSection, UpstreamsSection } from './reports.tsx'

const SECTIONS = [
  ['accounts', 'Accounts'],
  ['payments', 'Payments'],
  ['codes', 'Codes'],
  ['debts', 'Debts'],
  ['calls', 'Calls'],
  ['mails', 'Mails'],
  ['upstreams', 'Upstreams'],
  ['margins', 'Margins'],
  ['catalogue', 'Catalogue'],
  ['actions', 'Audit'],
] as const

/** Without a provider there are no payments to look at. */
const sections = () => SECTIONS.filter(([one]) => one !== 'payments' || buying()?.provider != null)

export function OperatorPage({ params, query }: PageProps) {
  const section = SECTIONS.find(([one]) => one === params.section)?.[0] ?? 'accounts'
  if (account.value && account.value.role !== 'admin') {
    return (
      <Page title="Operator">
        <section class="panel">
          <Empty title="This page is for operators">Your account does not have access to it.</Empty>
        </section>
      </Page>
    )
  }
  return (
    <Page title="Operator">
      <nav class="tabs" aria-label="Sections">
        {sections().map(([one, name]) => (
          <a key={one} href={`/operator/${one}`} aria-current={one === section ? 'page' : undefined}>
            {name}
          </a>
        ))}
      </nav>
      {section === 'accounts' &&
        (params.id ? (
          <AccountSection key={params.id} id={params.id} />
        ) : (
          <AccountsSection search={query.search ?? ''} />
        ))}
      {section === 'payments' &&
        (params.id ? <PaymentSection key={params.id} id={params.id} /> : <PaymentsSection query={query} />)}
      {section === 'codes' && <CodesSection />}
      {section === 'debts' && <DebtsSection />}
      {section === 'calls' && <CallSection id={params.id ?? ''} />}
      {section === 'mails' && <MailsSection />}
      {section === 'upstreams' && <UpstreamsSection />}
      {section === 'margins' && <MarginsSection />}
      {section === 'catalogue' && <CatalogueSection />}
      {section === 'actions' && <ActionsSection />}
    </Page>
  )
}
