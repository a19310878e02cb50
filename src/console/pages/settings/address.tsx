/**
 * Another e-mail address: it changes once the link that is mailed to the new one was opened.
 */
import { changeAddress } from '../../api/endpoints.ts'
import { Done } from '../../parts/basics.tsx'
import { Field, Form, PasswordField, Submit, Username, useStaying } from '../../parts/forms.tsx'
import { account } from '../../state/account.ts'

export function Address() {
  const { busy, problem, outcome, form, submits } = useStaying()
  const submit = submits(async ({ email = '', password = '' }) => {
    const { message } = await changeAddress({ email: email.trim(), password })
    return `${message} Your address changes when you open it.`
  })
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
        <Done text={outcome} />
      </Form>
    </section>
  )
}
