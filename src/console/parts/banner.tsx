/**
 * The banner above every page, also for those who are not signed in.
 */
import { t } from '../language/language.ts'
import { banner, dismiss } from '../state/banner.ts'

/** A live region that is always there, so that screen readers announce its content. */
export function BannerBar() {
  const shown = banner.value
  return (
    <aside aria-label={t.frame.announcement} aria-live={shown?.level === 'critical' ? 'assertive' : 'polite'}>
      {shown && (
        <div class={`banner ${shown.level}`} data-testid="banner">
          <p>
            <strong>{t.frame.levels[shown.level]}</strong> {shown.text}
          </p>
          <button type="button" class="small quiet" onClick={() => dismiss(shown)}>
            {t.frame.dismiss}
          </button>
        </div>
      )}
    </aside>
  )
}
