/**
 * Redemption codes: made, shown once, disabled.
 */
import { useRef, useState } from 'preact/hooks'
import { t } from '../../language/language.ts'
import type { RedemptionCode } from '../../api/operator-billing.ts'
import { createCode, disableCode, getCodes } from '../../api/operator-billing.ts'
import { Action, Amount, Code, Empty, ErrorMessage, Time } from '../../parts/basics.tsx'
import { number } from '../../parts/format.ts'
import { Field, Form, FormError, useSubmit } from '../../parts/forms.tsx'
import { List } from '../../parts/list.tsx'
import type { Column } from '../../parts/table.tsx'
import { Table } from '../../parts/table.tsx'
import { useLoad } from '../../state/load.ts'

const words = t.accounts

export function CodesSection() {
  const codes = useLoad('codes', getCodes)
  return (
    <>
      <NewCode done={codes.reload} />
      <section class="panel">
        <h2>{words.existing}</h2>
        <List of={codes} empty={<Empty title={words.noCodes} />}>
          {(items) => <CodeTable codes={items} reload={codes.reload} />}
        </List>
      </section>
    </>
  )
}

/** A day of a date field ends with the day, in UTC. */
const endOf = (day: string): string => `${day}T23:59:59Z`

function NewCode({ done }: { done: () => void }) {
  const { busy, problem, submits } = useSubmit()
  const [code, setCode] = useState<string | null>(null)
  const form = useRef<HTMLFormElement>(null)
  const submit = submits(async ({ credits = '', uses = '', expiresAt, creditsExpireAt }) => {
    const made = await createCode({
      credits: Number(credits),
      uses: Number(uses),
      ...(expiresAt && { expiresAt: endOf(expiresAt) }),
      ...(creditsExpireAt && { creditsExpireAt: endOf(creditsExpireAt) }),
    })
    setCode(made.code)
    form.current?.reset()
    done()
  })
  return (
    <section class="panel">
      <h2>{words.newCode}</h2>
      {code !== null && (
        <div data-testid="code" role="status">
          <p>{t.frame.copyNow}</p>
          <Code text={code} />
        </div>
      )}
      <Form form={form} class="filters roomy" problem={problem} onSubmit={submit}>
        <Field label={t.frame.page.credits} name="credits" type="number" min={1} step={1} required />
        <Field label={words.uses} name="uses" type="number" min={1} step={1} defaultValue={1} required />
        <Field label={words.codeExpires} name="expiresAt" type="date" />
        <Field label={words.creditsExpire} name="creditsExpireAt" type="date" />
        <div class="field">
          <Action type="submit" busy={busy} busyText={t.frame.creating}>
            {words.createCode}
          </Action>
        </div>
        <FormError />
      </Form>
    </section>
  )
}

const COLUMNS: Column<RedemptionCode>[] = [
  { header: words.code, cell: ({ hint }) => `…${hint}` },
  { header: t.words.fields.created, cell: ({ createdAt }) => <Time iso={createdAt} /> },
  { header: t.frame.page.credits, right: true, cell: ({ credits }) => <Amount value={credits} /> },
  {
    header: words.used,
    right: true,
    class: 'digits',
    cell: (one) => words.usedOf(number(one.uses), number(one.maxUses)),
  },
  {
    header: t.words.fields.expires,
    cell: ({ expiresAt }) => (expiresAt ? <Time iso={expiresAt} /> : t.words.fields.never),
  },
]

function CodeTable({ codes, reload }: { codes: RedemptionCode[]; reload: () => void }) {
  const { busy, problem, run } = useSubmit()
  const disable = (id: string): void =>
    run(async () => {
      await disableCode(id)
      reload()
    })
  const disabling: Column<RedemptionCode> = {
    header: t.webhooks.disable,
    hidden: true,
    right: true,
    cell: ({ id, hint, disabledAt }) =>
      disabledAt ? (
        <span class="soft">{words.disabled}</span>
      ) : (
        <Action class="small danger" busy={busy} aria-label={words.disableOne(hint)} onClick={() => disable(id)}>
          {t.webhooks.disable}
        </Action>
      ),
  }
  return (
    <>
      <ErrorMessage problem={problem} />
      <Table
        label={words.codes}
        columns={[...COLUMNS, disabling]}
        rows={codes}
        keyOf={({ id }) => id}
        faded={({ disabledAt }) => disabledAt !== null}
      />
    </>
  )
}
