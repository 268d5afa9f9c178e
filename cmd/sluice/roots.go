package main

import (
	"crypto/x509"
	"os"
	"runtime"

	"golang.org/x/crypto/x509roots/fallback/bundle"
)

// trustRoots lets the program check the certificates of servers on a machine that knows no certificate authorities, such
// as an empty container: those of Mozilla count then, as of the day of the build. SSL_CERT_FILE names others.
func trustRoots() {
	if runtime.GOOS != "linux" || os.Getenv("SSL_CERT_FILE") != "" || os.Getenv("SSL_CERT_DIR") != "" {
		return
	}
	// Where Go looks itself. The files alone cost nothing; reading them costs milliseconds.
	for _, place := range []string{
		"/etc/ssl/certs/ca-certificates.crt", "/etc/pki/tls/certs/ca-bundle.crt", "/etc/ssl/ca-bundle.pem", "/etc/pki/tls/cacert.pem",
		"/etc/pki/ca-trust/extracted/pem/tls-ca-bundle.pem", "/etc/ssl/cert.pem", "/etc/ssl/certs", "/etc/pki/tls/certs",
	} {
		if info, err := os.Stat(place); err == nil && (!info.IsDir() || hasFiles(place)) {
			return
		}
	}
	pool := x509.NewCertPool()
	for root := range bundle.Roots() {
		if cert, err := x509.ParseCertificate(root.Certificate); err == nil {
			if root.Constraint == nil {
				pool.AddCert(cert)
			} else {
				pool.AddCertWithConstraint(cert, root.Constraint)
			}
		}
	}
	x509.SetFallbackRoots(pool)
}

func hasFiles(folder string) bool {
	entries, err := os.ReadDir(folder)
	return err == nil && len(entries) > 0
}
