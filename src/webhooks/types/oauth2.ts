import { parseTokenGrant } from '../requests/oauth2.ts'
import { type ReceiverType, parseAddress, plainEncoder, plainType } from './receiver-type.ts'

/** A receiver that takes access tokens of an authorization server. */
export const oauth2Type: ReceiverType = {
  ...plainType,
  secrets: ['oauth2_client_secret', 'oauth2_password'],
  check: (fields) => ({ oauth2_token_url: parseTokenGrant(fields, parseAddress).url }),
  open: (fields) => ({ ...plainEncoder, grant: parseTokenGrant(fields, parseAddress) }),
}
