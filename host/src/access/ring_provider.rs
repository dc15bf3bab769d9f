//! What verifies signatures for `jsonwebtoken`: ring, which TLS has anyway. It comes with none of its own here, so that
//! the program has one library of cryptography.

use jsonwebtoken::crypto::{CryptoProvider, JwtVerifier, KeyUtils};
use jsonwebtoken::errors::{Error, ErrorKind};
use jsonwebtoken::signature::{Error as Refused, Verifier};
use jsonwebtoken::{Algorithm, DecodingKey, DecodingKeyKind};
use ring::signature::{self, RsaParameters, RsaPublicKeyComponents, UnparsedPublicKey};

/// It signs nothing, and verifies by public keys alone: there is no secret that could be told.
static PROVIDER: CryptoProvider = CryptoProvider {
    signer_factory: |_, _| Err(ErrorKind::UnsupportedAlgorithm.into()),
    verifier_factory: |algorithm, key| {
        Ok(Box::new(RingVerifier {
            algorithm: *algorithm,
            method: Method::of(*algorithm)?,
            key: key.clone(),
        }))
    },
    // For making key sets and thumbprints, which nothing here does.
    key_utils: KeyUtils::new_unimplemented(),
};

/// Has `jsonwebtoken` verify by ring, in the whole process.
pub(super) fn install() {
    // It may have been installed before.
    let _ = PROVIDER.install_default();
}

/// How a signature is verified.
enum Method {
    Rsa(&'static RsaParameters),
    Other(&'static dyn signature::VerificationAlgorithm),
}

impl Method {
    fn of(algorithm: Algorithm) -> Result<Self, Error> {
        Ok(match algorithm {
            Algorithm::RS256 => Self::Rsa(&signature::RSA_PKCS1_2048_8192_SHA256),
            Algorithm::RS384 => Self::Rsa(&signature::RSA_PKCS1_2048_8192_SHA384),
            Algorithm::RS512 => Self::Rsa(&signature::RSA_PKCS1_2048_8192_SHA512),
            Algorithm::PS256 => Self::Rsa(&signature::RSA_PSS_2048_8192_SHA256),
            Algorithm::PS384 => Self::Rsa(&signature::RSA_PSS_2048_8192_SHA384),
            Algorithm::PS512 => Self::Rsa(&signature::RSA_PSS_2048_8192_SHA512),
            Algorithm::ES256 => Self::Other(&signature::ECDSA_P256_SHA256_FIXED),
            Algorithm::ES384 => Self::Other(&signature::ECDSA_P384_SHA384_FIXED),
            Algorithm::EdDSA => Self::Other(&signature::ED25519),
            _ => return Err(ErrorKind::UnsupportedAlgorithm.into()),
        })
    }
}

struct RingVerifier {
    algorithm: Algorithm,
    method: Method,
    key: DecodingKey,
}

impl Verifier<Vec<u8>> for RingVerifier {
    fn verify(&self, message: &[u8], signature: &Vec<u8>) -> Result<(), Refused> {
        if self.key.family() != self.algorithm.family() {
            return Err(Refused::new());
        }
        let verified = match (&self.method, self.key.kind()) {
            (Method::Rsa(parameters), DecodingKeyKind::RsaModulusExponent { n, e }) => {
                RsaPublicKeyComponents { n, e }.verify(parameters, message, signature)
            }
            (Method::Other(algorithm), DecodingKeyKind::SecretOrDer(key)) => {
                UnparsedPublicKey::new(*algorithm, key).verify(message, signature)
            }
            _ => return Err(Refused::new()),
        };
        verified.map_err(|_| Refused::new())
    }
}

impl JwtVerifier for RingVerifier {
    fn algorithm(&self) -> Algorithm {
        self.algorithm
    }
}
