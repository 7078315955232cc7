import { generateKeyPairSync } from 'node:crypto'

export interface ServiceAccount {
  /** The key file, as Google's console writes it. */
  readonly file: Readonly<Record<string, string>>
  /** PEM. */
  readonly publicKey: string
}

/** Creates the key of a service account whose tokens come from `tokenUri`. @param bits The length of the key. */
export function serviceAccount(tokenUri: string, bits = 2048): ServiceAccount {
  const { publicKey, privateKey } = generateKeyPairSync('rsa', {
    modulusLength: bits,
    publicKeyEncoding: { type: 'spki', format: 'pem' },
    privateKeyEncoding: { type: 'pkcs8', format: 'pem' },
  })
  const file = {
    type: 'service_account',
    client_email: 'hooks@project.iam.gserviceaccount.com',
    private_key_id: 'key-1',
    private_key: privateKey,
    token_uri: tokenUri,
  }
  return { file, publicKey }
}
