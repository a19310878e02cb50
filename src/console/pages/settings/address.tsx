/**
 * Another e-mail address: it changes once the link that is mailed to the new one was opened.
 */
import { useRef, useState } from 'preact/hooks'
import { changeAddress } from '../../api/endpoints.ts'
import { Done } from '../../parts/basics.tsx'
import { Field, Form, PasswordField, Submit, Username, fieldsOf, useSubmit } from '../../parts/forms.tsx'
import { account } from '../../state/account.ts'

export function Address() {
  const { busy, problem, run } = useSubmit()
  const [said, setSaid] = useState<string | null>(null)
  const form = useRef<HTMLFormElement>(null)
  const submit = (event: Event): void => {
    const { email = '', password = '' } = fieldsOf(event)
    setSaid(null)
    run(async () => {
      const { message } = await changeAddress({ email: email.trim(), password })
      form.current?.reset()
      setSaid(`${message} Your address changes when you open it.`)
    })
  }
  return (
    <section class="panel">
      <h2>E-mail address</h2>
      <Form
        form={form}
        problem={problem}
        onSubmit={submit}
        about={{ invalid_email: 'email', wrong_password: 'password' }}
      >
        <Field
          label="New address"
          name="email"
          type="email"
          autoComplete="off"
          required
          hint={
            <>
              Currently <span>{account.value?.user.email ?? '…'}</span>. We e-mail a link to the new address, and a
              notice to the old one.
            </>
          }
        />
        <Username of={account.value?.user.email} />
        <PasswordField label="Your password" name="password" autoComplete="current-password" required />
        <Submit busy={busy} busyText="Sending…" verb="Change address" />
        <Done text={said} />
      </Form>
    </section>
  )
}
