/**
 * The frame of pages that everybody may see, for visitors who are not signed in.
 */
import type { ComponentChildren } from 'preact'
import { useLocation } from 'preact-iso'
import { t } from '../language/language.ts'
import { site } from '../state/site.ts'
import { Brand } from './brand.tsx'

export function PublicFrame({ children }: { children: ComponentChildren }) {
  const { path, url } = useLocation()
  const { page } = t.frame
  const links = [
    ...(site.value.publicCatalogue ? [['/models', page.models]] : []),
    ['/help', page.help],
    ['/docs', page.api],
  ]
  return (
    <div class="public">
      <a class="skip" href="#content">
        {t.frame.skip}
      </a>
      <header class="top">
        <Brand href="/" size={28} />
        <nav class="row" aria-label={t.frame.pages}>
          {links.map(([href, name]) => (
            <a key={href} href={href} aria-current={path === href ? 'page' : undefined}>
              {name}
            </a>
          ))}
          <a href={`/sign-in?next=${encodeURIComponent(url)}`}>{t.frame.signIn}</a>
          <a href={`/sign-up?next=${encodeURIComponent(url)}`}>{t.frame.createAccount}</a>
        </nav>
      </header>
      <main id="content" tabIndex={-1}>
        {children}
      </main>
    </div>
  )
}
