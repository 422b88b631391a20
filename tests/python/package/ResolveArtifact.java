// Resolves an artifact as Maven does: `java ResolveArtifact.java REPOSITORY LOCAL GROUP:NAME:TYPE:VERSION`
// prints the path of the file in LOCAL. A wrong checksum is an error.
import java.io.File;
import org.apache.maven.repository.internal.MavenRepositorySystemUtils;
import org.eclipse.aether.DefaultRepositorySystemSession;
import org.eclipse.aether.RepositorySystem;
import org.eclipse.aether.artifact.Artifact;
import org.eclipse.aether.artifact.DefaultArtifact;
import org.eclipse.aether.connector.basic.BasicRepositoryConnectorFactory;
import org.eclipse.aether.impl.DefaultServiceLocator;
import org.eclipse.aether.repository.LocalRepository;
import org.eclipse.aether.repository.RemoteRepository;
import org.eclipse.aether.repository.RepositoryPolicy;
import org.eclipse.aether.resolution.ArtifactDescriptorRequest;
import org.eclipse.aether.resolution.ArtifactRequest;
import org.eclipse.aether.spi.connector.RepositoryConnectorFactory;
import org.eclipse.aether.spi.connector.transport.TransporterFactory;
import org.eclipse.aether.transport.wagon.WagonProvider;
import org.eclipse.aether.transport.wagon.WagonTransporterFactory;
import org.apache.maven.wagon.Wagon;
import org.apache.maven.wagon.providers.file.FileWagon;

class ResolveArtifact {
    public static void main(String[] arguments) throws Exception {
        DefaultServiceLocator locator = MavenRepositorySystemUtils.newServiceLocator();
        locator.addService(RepositoryConnectorFactory.class, BasicRepositoryConnectorFactory.class);
        locator.addService(TransporterFactory.class, WagonTransporterFactory.class);
        locator.setServices(WagonProvider.class, new Files());
        RepositorySystem system = locator.getService(RepositorySystem.class);
        DefaultRepositorySystemSession session = MavenRepositorySystemUtils.newSession();
        LocalRepository local = new LocalRepository(new File(arguments[1]));
        session.setLocalRepositoryManager(system.newLocalRepositoryManager(session, local));
        session.setChecksumPolicy(RepositoryPolicy.CHECKSUM_POLICY_FAIL);
        String address = new File(arguments[0]).toURI().toString();
        RemoteRepository remote = new RemoteRepository.Builder("tested", "default", address).build();
        Artifact wanted = new DefaultArtifact(arguments[2]);
        ArtifactDescriptorRequest description = new ArtifactDescriptorRequest();
        description.setArtifact(wanted).addRepository(remote);
        system.readArtifactDescriptor(session, description)
                .getDependencies()
                .forEach(one -> System.out.println("needs " + one.getArtifact()));
        ArtifactRequest file = new ArtifactRequest().setArtifact(wanted).addRepository(remote);
        System.out.println(system.resolveArtifact(session, file).getArtifact().getFile());
    }

    static class Files implements WagonProvider {
        public Wagon lookup(String hint) {
            return new FileWagon();
        }

        public void release(Wagon wagon) {}
    }
}
