/**
 * The second factor: an authenticator app, which is set up by a QR code that is drawn here, and recovery codes.
 */
import { useState } from 'preact/hooks'
import { t } from '../../language/language.ts'
import type { Answered } from '../../api/declared.ts'
import { beginApp, confirmApp, removeApp } from '../../api/endpoints.ts'
import { Action, Code, ErrorMessage, Loading } from '../../parts/basics.tsx'
import { Confirm, Dialog } from '../../parts/dialogs.tsx'
import { CodeField, Form, Submit, useSubmit } from '../../parts/forms.tsx'
import { useFactors } from '../../parts/own-password.tsx'
import { qrCode } from '../../parts/qr-code.ts'

const words = t.settings.factor

type NewApp = Answered<'POST /api/auth/totp'>

/** The state of the second factor, and the ways to change it. `added` is called once an app was added. */
export function SecondFactor({ added = () => {} }: { added?: () => void }) {
  const factors = useFactors()
  const { busy, problem, run } = useSubmit()
  const [app, setApp] = useState<NewApp | null>(null)
  const [codes, setCodes] = useState<string[] | null>(null)
  const [isRemoving, setRemoving] = useState(false)
  const begin = (): void => run(async () => setApp(await beginApp()))
  const confirmed = (recoveryCodes: string[]): void => {
    setApp(null)
    setCodes(recoveryCodes)
    factors.reload()
  }
  const seen = (): void => {
    setCodes(null)
    added()
  }
  return (
    <section class="panel">
      <h2>{words.title}</h2>
      <ErrorMessage problem={factors.problem ?? problem} retry={factors.problem ? factors.reload : undefined} />
      {!factors.data ? (
        !factors.problem && <Loading rows={2} />
      ) : factors.data.totp ? (
        <>
          <p class="soft">{words.has(factors.data.recoveryCodes)}</p>
          <button type="button" class="danger" onClick={() => setRemoving(true)}>
            {words.remove}
          </button>
        </>
      ) : (
        <>
          <p class="soft">{words.none}</p>
          <Action busy={busy} busyText={words.preparing} onClick={begin}>
            {words.add}
          </Action>
        </>
      )}
      {app && <AddApp app={app} close={() => setApp(null)} confirmed={confirmed} />}
      {codes && <RecoveryCodes codes={codes} close={seen} />}
      {isRemoving && (
        <Confirm
          title={words.removeTitle}
          verb={t.words.fields.remove}
          busyText={t.settings.removing}
          danger
          close={() => setRemoving(false)}
          work={async () => {
            await removeApp()
            factors.reload()
          }}
        >
          {words.removal}
        </Confirm>
      )}
    </section>
  )
}

type AddAppProps = { app: NewApp; close: () => void; confirmed: (recoveryCodes: string[]) => void }

function AddApp({ app, close, confirmed }: AddAppProps) {
  const { busy, problem, submits } = useSubmit()
  const submit = submits(async ({ code = '' }) => confirmed((await confirmApp(code)).recoveryCodes))
  return (
    <Dialog title={words.add} close={close}>
      <p class="soft">{words.scan}</p>
      <QrCode text={app.uri} />
      <div data-testid="totp-secret">
        <Code text={app.secret} label={t.words.fields.copySecret} />
      </div>
      <Form problem={problem} onSubmit={submit} about={{ invalid_credentials: 'code' }}>
        <CodeField />
        <Submit busy={busy} busyText={t.entrance.checking} verb={words.confirm} cancel={close} />
      </Form>
    </Dialog>
  )
}

/** Black on white in both themes, with the margin of four modules that scanners need. */
function QrCode({ text }: { text: string }) {
  const code = qrCode(text)
  const path = code.flatMap((row, y) => row.flatMap((isDark, x) => (isDark ? [`M${x} ${y}h1v1h-1z`] : []))).join('')
  const size = code.length + 8
  return (
    <svg class="qr" viewBox={`-4 -4 ${size} ${size}`} width="232" height="232" role="img" aria-label={words.qr}>
      <rect x="-4" y="-4" width={size} height={size} fill="#fff" />
      <path d={path} fill="#000" shape-rendering="crispEdges" />
    </svg>
  )
}

/** The recovery codes of somebody who has just added their first factor. */
export const RecoveryCodes = ({ codes, close }: { codes: string[]; close: () => void }) => (
  <Dialog title={words.codes} close={close} keep>
    <div class="notice" role="status">
      {words.aboutCodes}
    </div>
    <div data-testid="recovery-codes">
      <Code text={codes.join('\n')} label={words.copyCodes} />
    </div>
    <button type="button" onClick={close}>
      {words.savedThem}
    </button>
  </Dialog>
)
