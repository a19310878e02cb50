/**
 * The frame of pages that everybody may see, for visitors who are not signed in.
 */
import type { ComponentChildren } from 'preact'
import { useLocation } from 'preact-iso'
import { site } from '../state/site.ts'
import { Brand } from './brand.tsx'

export function PublicFrame({ children }: { children: ComponentChildren }) {
  const { path, url } = useLocation()
  const links = [...(site.value.publicCatalogue ? [['/models', 'Models']] : []), ['/help', 'Help'], ['/docs', 'API']]
  return (
    <div class="public">
      <a class="skip" href="#content">
        Skip to content
      </a>
      <header class="top">
        <Brand href="/" size={28} />
        <nav class="row" aria-label="Pages">
          {links.map(([href, name]) => (
            <a key={href} href={href} aria-current={path === href ? 'page' : undefined}>
              {name}
            </a>
          ))}
          <a href={`/sign-in?next=${encodeURIComponent(url)}`}>Sign in</a>
          <a href={`/sign-up?next=${encodeURIComponent(url)}`}>Create an account</a>
        </nav>
      </header>
      <main id="content" tabIndex={-1}>
        {children}
      </main>
    </div>
  )
}
