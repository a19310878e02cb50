/**
 * The mails of an installation on one's own machine, which has no mail server: they are written to a file, and read
 * here.
 */
import { useEffect } from 'preact/hooks'
import { t } from '../language/language.ts'
import { getLocalMails } from '../api/endpoints.ts'
import { Empty, Time } from '../parts/basics.tsx'
import { List } from '../parts/list.tsx'
import { useLoad } from '../state/load.ts'
import { Card } from './signed-out.tsx'

const words = t.models

/** How often new mails are asked for, in ms. */
const REFRESH_MS = 3000

/** Without the punctuation of the sentence that it is in. */
const LINK = /(https?:\/\/[!-~]*[\w/=-])/

export function LocalMailsPage() {
  const mails = useLoad('local mails', getLocalMails)
  useEffect(() => {
    const timer = setInterval(mails.reload, REFRESH_MS)
    return () => clearInterval(timer)
  }, [mails.reload])
  return (
    <Card title={words.mails} wide>
      <p class="soft">{words.aboutMails(<code>SMTP_URL</code>)}</p>
      <List of={mails} rows={4} empty={<Empty title={words.noMails}>{words.mailsAppear}</Empty>}>
        {(items) =>
          items.map(({ date, to, subject, text }) => (
            <article key={`${date} ${to}`} class="mail">
              <h2>{subject}</h2>
              <p class="soft">{words.to(to, <Time iso={date} />)}</p>
              <p class="text">
                {text.split(LINK).map((part, index) =>
                  index % 2 === 1 ? (
                    <a key={index} href={part}>
                      {part}
                    </a>
                  ) : (
                    part
                  ),
                )}
              </p>
            </article>
          ))
        }
      </List>
    </Card>
  )
}
