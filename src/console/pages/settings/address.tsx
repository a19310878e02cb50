/**
 * Another e-mail address: it changes once the link that is mailed to the new one was opened.
 */
import { t } from '../../language/language.ts'
import { changeAddress } from '../../api/endpoints.ts'
import { Done } from '../../parts/basics.tsx'
import { Field, Form, Submit, Username, useStaying } from '../../parts/forms.tsx'
import { OwnPassword } from '../../parts/own-password.tsx'
import { account } from '../../state/account.ts'

const words = t.settings.address

export function Address() {
  const { busy, problem, outcome, form, submits } = useStaying()
  const submit = submits(async ({ email = '', password = '' }) => {
    const { message } = await changeAddress({ email: email.trim(), password })
    return words.asked(message)
  })
  return (
    <section class="panel">
      <h2>{words.title}</h2>
      <Form
        form={form}
        problem={problem}
        onSubmit={submit}
        about={{ invalid_email: 'email', wrong_password: 'password' }}
      >
        <Field
          label={words.new}
          name="email"
          type="email"
          autoComplete="off"
          required
          hint={words.hint(<span>{account.value?.user.email ?? '…'}</span>)}
        />
        <Username of={account.value?.user.email} />
        <OwnPassword />
        <Submit busy={busy} busyText={t.words.fields.sending} verb={words.change} />
        <Done text={outcome} />
      </Form>
    </section>
  )
}
