/**
 * Redemption codes: made, shown once, disabled.
 */
import { useRef, useState } from 'preact/hooks'
import type { RedemptionCode } from '../../api/operator-billing.ts'
import { createCode, disableCode, getCodes } from '../../api/operator-billing.ts'
import { Action, Amount, Code, Empty, ErrorMessage, Time } from '../../parts/basics.tsx'
import { number } from '../../parts/format.ts'
import { Field, Form, FormError, useSubmit } from '../../parts/forms.tsx'
import { List } from '../../parts/list.tsx'
import type { Column } from '../../parts/table.tsx'
import { Table } from '../../parts/table.tsx'
import { useLoad } from '../../state/load.ts'

export function CodesSection() {
  const codes = useLoad('codes', getCodes)
  return (
    <>
      <NewCode done={codes.reload} />
      <section class="panel">
        <h2>Existing codes</h2>
        <List of={codes} empty={<Empty title="No codes yet" />}>
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
      <h2>New code</h2>
      {code !== null && (
        <div data-testid="code" role="status">
          <p>Copy it now. It will not be shown again.</p>
          <Code text={code} />
        </div>
      )}
      <Form form={form} class="filters roomy" problem={problem} onSubmit={submit}>
        <Field label="Credits" name="credits" type="number" min={1} step={1} required />
        <Field label="Accounts that may use it" name="uses" type="number" min={1} step={1} defaultValue={1} required />
        <Field label="Code expires (UTC)" name="expiresAt" type="date" />
        <Field label="Credits expire (UTC)" name="creditsExpireAt" type="date" />
        <div class="field">
          <Action type="submit" busy={busy} busyText="Creating…">
            Create code
          </Action>
        </div>
        <FormError />
      </Form>
    </section>
  )
}

const COLUMNS: Column<RedemptionCode>[] = [
  { header: 'Code', cell: ({ hint }) => `…${hint}` },
  { header: 'Created', cell: ({ createdAt }) => <Time iso={createdAt} /> },
  { header: 'Credits', right: true, cell: ({ credits }) => <Amount value={credits} /> },
  { header: 'Used', right: true, class: 'digits', cell: (one) => `${number(one.uses)} of ${number(one.maxUses)}` },
  { header: 'Expires', cell: ({ expiresAt }) => (expiresAt ? <Time iso={expiresAt} /> : 'never') },
]

function CodeTable({ codes, reload }: { codes: RedemptionCode[]; reload: () => void }) {
  const { busy, problem, run } = useSubmit()
  const disable = (id: string): void =>
    run(async () => {
      await disableCode(id)
      reload()
    })
  const disabling: Column<RedemptionCode> = {
    header: 'Disable',
    hidden: true,
    right: true,
    cell: ({ id, hint, disabledAt }) =>
      disabledAt ? (
        <span class="soft">disabled</span>
      ) : (
        <Action class="small danger" busy={busy} aria-label={`Disable …${hint}`} onClick={() => disable(id)}>
          Disable
        </Action>
      ),
  }
  return (
    <>
      <ErrorMessage problem={problem} />
      <Table
        label="Codes"
        columns={[...COLUMNS, disabling]}
        rows={codes}
        keyOf={({ id }) => id}
        faded={({ disabledAt }) => disabledAt !== null}
      />
    </>
  )
}
