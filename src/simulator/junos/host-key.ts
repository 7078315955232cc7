import ssh2 from 'ssh2'

/** A key pair in the formats of OpenSSH. */
export interface HostKey {
  readonly private: string
  readonly public: string
}

/** Generates an Ed25519 key pair. ssh2 writes about one in 256 in a form that no parser accepts, including its own. */
export function generateHostKey(): HostKey {
  const pair = ssh2.utils.generateKeyPairSync('ed25519')
  return ssh2.utils.parseKey(pair.private) instanceof Error ? generateHostKey() : pair
}
