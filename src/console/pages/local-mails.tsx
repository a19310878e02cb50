/**
 * The mails of an installation on one's own machine, which has no mail server: they are written to a file, and read
 * here.
 */
import { useEffect } from 'preact/hooks'
import { getLocalMails } from '../api/endpoints.ts'
import { Empty, Time } from '../parts/basics.tsx'
import { List } from '../parts/list.tsx'
import { useLoad } from '../state/load.ts'
import { Card } from './signed-out.tsx'

/** How often new mails are asked for, in ms. */
const REFRESH_MS = 3000

const LINK = /(https?:\/\/\S+)/

export function LocalMailsPage() {
  const mails = useLoad('local mails', getLocalMails)
  useEffect(() => {
    const timer = setInterval(mails.reload, REFRESH_MS)
    return () => clearInterval(timer)
  }, [mails.reload])
  return (
    <Card title="Mails that were not sent" wide>
      <p class="soft">
        There is no mail server (<code>SMTP_URL</code>), so mails are written to a file on this machine and reach
        nobody. Only this machine sees this page.
      </p>
      <List of={mails} rows={4} empty={<Empty title="No mails yet">They appear here the moment they are sent.</Empty>}>
        {(items) =>
          items.map(({ date, to, subject, text }) => (
            <article key={`${date} ${to}`} class="mail">
              <h2>{subject}</h2>
              <p class="soft">
                to {to}, <Time iso={date} />
              </p>
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
