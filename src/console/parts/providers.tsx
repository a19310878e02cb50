/**
 * Buttons of the providers, which lead the whole page away; where it was is stored in the tab.
 */
import { useLocation } from 'preact-iso'
import { t } from '../language/language.ts'
import { getProviders } from '../api/providers.ts'
import { keptInvitation } from '../state/invitation.ts'
import { useLoad } from '../state/load.ts'
import { keepReturn } from '../state/provider-return.ts'

/** How people can sign in; what is usual while that is not known. */
export const useProviders = () => useLoad('providers', getProviders).data ?? { data: [], passwords: true }

type ButtonsProps = { stay: (button: HTMLElement) => boolean; next?: string }

/** The buttons to sign in. `stay` reads whether the session lasts beyond the tab; `next` is the page to show then. */
export function ProviderButtons({ stay, next }: ButtonsProps) {
  const { data } = useProviders()
  const { query } = useLocation()
  const invitation = keptInvitation()?.token
  const go = (id: string, button: HTMLElement): void => {
    keepReturn({ next: next ?? query['next'] ?? '/overview', stay: stay(button) })
    location.assign(`/api/auth/sign-in/${id}${invitation ? `?${new URLSearchParams({ invitation })}` : ''}`)
  }
  return (
    <>
      {data.map(({ id, label }) => (
        <button key={id} type="button" class="quiet full" onClick={({ currentTarget }) => go(id, currentTarget)}>
          {t.providers.continueWith(label)}
        </button>
      ))}
    </>
  )
}
