/**
 * The second factor: an authenticator app, which is set up by a QR code that is drawn here, and recovery codes.
 */
import { useState } from 'preact/hooks'
import type { Answered } from '../../api/declared.ts'
import { beginApp, confirmApp, getFactors, removeApp } from '../../api/endpoints.ts'
import { Action, Code, ErrorMessage, Loading } from '../../parts/basics.tsx'
import { Confirm, Dialog } from '../../parts/dialogs.tsx'
import { CodeField, Form, Submit, useSubmit } from '../../parts/forms.tsx'
import { counted } from '../../parts/format.ts'
import { qrCode } from '../../parts/qr-code.ts'
import { useLoad } from '../../state/load.ts'

type NewApp = Answered<'POST /api/auth/totp'>

/** The state of the second factor, and the ways to change it. `added` is called once an app was added. */
export function SecondFactor({ added = () => {} }: { added?: () => void }) {
  const factors = useLoad('second factors', getFactors)
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
      <h2>Second factor</h2>
      <ErrorMessage problem={factors.problem ?? problem} retry={factors.problem ? factors.reload : undefined} />
      {!factors.data ? (
        !factors.problem && <Loading rows={2} />
      ) : factors.data.totp ? (
        <>
          <p class="soft">
            Signing in needs a code of your authenticator app, or one of{' '}
            {counted(factors.data.recoveryCodes, 'recovery code')}.
          </p>
          <button type="button" class="danger" onClick={() => setRemoving(true)}>
            Remove the app
          </button>
        </>
      ) : (
        <>
          <p class="soft">With an authenticator app on your phone, a stolen password alone does not sign in.</p>
          <Action busy={busy} busyText="Preparing…" onClick={begin}>
            Add an authenticator app
          </Action>
        </>
      )}
      {app && <AddApp app={app} close={() => setApp(null)} confirmed={confirmed} />}
      {codes && <RecoveryCodes codes={codes} close={seen} />}
      {isRemoving && (
        <Confirm
          title="Remove the authenticator app?"
          verb="Remove"
          busyText="Removing…"
          danger
          close={() => setRemoving(false)}
          work={async () => {
            await removeApp()
            factors.reload()
          }}
        >
          Signing in needs the password alone from then on. The recovery codes end, too.
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
    <Dialog title="Add an authenticator app" close={close}>
      <p class="soft">Scan this code with the app, or enter the secret by hand. Then enter the code that it shows.</p>
      <QrCode text={app.uri} />
      <div data-testid="totp-secret">
        <Code text={app.secret} label="Copy the secret" />
      </div>
      <Form problem={problem} onSubmit={submit} about={{ invalid_credentials: 'code' }}>
        <CodeField />
        <Submit busy={busy} busyText="Checking…" verb="Confirm" cancel={close} />
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
    <svg
      class="qr"
      viewBox={`-4 -4 ${size} ${size}`}
      width="232"
      height="232"
      role="img"
      aria-label="QR code of the secret"
    >
      <rect x="-4" y="-4" width={size} height={size} fill="#fff" />
      <path d={path} fill="#000" shape-rendering="crispEdges" />
    </svg>
  )
}

/** The recovery codes of somebody who has just added their first factor. */
export const RecoveryCodes = ({ codes, close }: { codes: string[]; close: () => void }) => (
  <Dialog title="Your recovery codes" close={close} keep>
    <div class="notice" role="status">
      Keep them where your phone is not. They will not be shown again. Each replaces a second factor once.
    </div>
    <div data-testid="recovery-codes">
      <Code text={codes.join('\n')} label="Copy the codes" />
    </div>
    <button type="button" onClick={close}>
      I have saved them
    </button>
  </Dialog>
)
