import { post } from '../../../scripts/harness/http.ts'
import type { ConsoleGateway } from '../../../scripts/harness/console-gateway.ts'

/** A registered user with credits and a key. */
export async function aCustomer(
  gateway: ConsoleGateway,
  email: string,
  credits: number,
): Promise<{ token: string; secret: string }> {
  const { token } = await gateway.person(email, { credits })
  const { json } = await post(`${gateway.url}/api/keys`, token, { name: 'test' })
  return { token, secret: json.secret as string }
}
