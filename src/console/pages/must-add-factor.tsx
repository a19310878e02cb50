/**
 * The only page of a user who must have a second factor, and has none yet.
 */
import { t } from '../language/language.ts'
import { loadAccount } from '../state/account.ts'
import { mustAddFactor } from '../state/session.ts'
import { signOutHere } from '../state/sign-out.ts'
import { ProofDialog } from '../parts/prove.tsx'
import { Passkeys } from './settings/passkeys.tsx'
import { SecondFactor } from './settings/second-factor.tsx'
import { Card } from './signed-out.tsx'

const added = (): void => {
  mustAddFactor.value = false
  void loadAccount()
}

export const MustAddFactorPage = () => (
  <Card title={t.entrance.mustAdd}>
    <p class="soft">{t.entrance.whyMustAdd}</p>
    <SecondFactor added={added} />
    <Passkeys added={added} />
    <p class="links">
      <button type="button" class="quiet small" onClick={signOutHere}>
        {t.frame.signOut}
      </button>
    </p>
    <ProofDialog />
  </Card>
)
