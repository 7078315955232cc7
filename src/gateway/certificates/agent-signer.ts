import type { CheckedRequest } from '../../devices/routers/certificates.ts'
import { lazily } from '../../platform/lazily.ts'

/** @throws AppError invalid naming `csr`. */
export type CheckRequest = (csrPem: string) => Promise<CheckedRequest>

/**
 * Signs certificates of agents by the installation's own device CA, even where the operator runs one for devices.
 * @param dataDir The folder of the installation.
 */
export function createAgentSigner(dataDir: string): CheckRequest {
  // Agents rarely register or renew their certificates, and the library takes several megabytes.
  const signer = lazily(async (): Promise<CheckRequest> => {
    const [{ loadDeviceCa }, { checkSigningRequest }] = await Promise.all([
      import('./device-ca.ts'),
      import('./sign-agent.ts'),
    ])
    const ca = await loadDeviceCa(dataDir)
    return (csrPem) => checkSigningRequest(ca, csrPem)
  })
  return async (csrPem) => (await signer.get())(csrPem)
}
