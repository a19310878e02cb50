import { post } from '../../../scripts/harness/http.ts'
import type { World } from '../../../scripts/harness/console-world.ts'

/** A registered user with credits and a key. */
export async function aCustomer(
  world: World,
  email: string,
  credits: number,
): Promise<{ token: string; secret: string }> {
  const { token } = await world.person(email, { credits })
  const { json } = await post(`${world.url}/api/keys`, token, { name: 'test' })
  return { token, secret: json.secret as string }
}
